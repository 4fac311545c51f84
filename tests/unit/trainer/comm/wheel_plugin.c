/* wheel_plugin.c - the plugin of test_wheels.c, which needs wheel_library.c
 * SPDX-License-Identifier: Apache-2.0
 */
int wheel_add(int a, int b);
int wheel_twice(int a);

int wheel_twice(int a)
{
    return wheel_add(a, a);
}
