/* wheel_library.c - in place of NCCL in test_wheels.c
 * SPDX-License-Identifier: Apache-2.0
 */
int wheel_add(int a, int b);

int wheel_add(int a, int b)
{
    return a + b;
}
