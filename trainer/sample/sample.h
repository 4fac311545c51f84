/* sample.h - muster-train sample: text from a trained model, to see what it has learned
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAMPLE_H
#define MUSTER_SAMPLE_H

int sample_main(int argc, char **argv);

#endif
