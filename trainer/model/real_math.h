/* real_math.h - the exponential function and GELU in a form that the compiler can vectorize
 *
 * The including file defines real as float or double. In float, the exponential is accurate to
 * 2 ulp and erf to 2e-7. NaN stays NaN. GPUs use their own functions.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REAL_MATH_H
#define MUSTER_REAL_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef REAL_FUNCTION
#define REAL_FUNCTION static inline
#endif

#ifdef REAL_IS_DOUBLE

REAL_FUNCTION real real_exp(real x)
{
    return exp(x);
}

REAL_FUNCTION real real_sqrt(real x)
{
    return sqrt(x);
}

REAL_FUNCTION real real_log(real x)
{
    return log(x);
}

REAL_FUNCTION real real_erf(real x)
{
    return erf(x);
}

#elif defined REAL_IS_CUDA

REAL_FUNCTION real real_exp(real x)
{
    return expf(x);
}

REAL_FUNCTION real real_erf(real x)
{
    return erff(x);
}

#else

/* Computes 2^n e^r for an integer n and a small r. Adding a large number to x leaves n in the
 * low bits. */
REAL_FUNCTION real real_exp(real x)
{
    const float big = 12582912.0f; /* 1.5 * 2^23 */
    float       t, n, r, p, scale;
    uint32_t    bits;

    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    t = x * 1.44269504f + big;
    n = t - big;
    r = x - n * 0.693359375f + n * 2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    memcpy(&bits, &t, sizeof bits);
    bits = (bits + 127) << 23; /* the low bits of t are n */
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

REAL_FUNCTION real real_sqrt(real x)
{
    return sqrtf(x);
}

REAL_FUNCTION real real_log(real x)
{
    return logf(x);
}

/* Abramowitz and Stegun 7.1.26. */
REAL_FUNCTION real real_erf(real x)
{
    const float a = x < 0 ? -x : x, t = 1.0f / (1.0f + 0.3275911f * a);
    const float p = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t -
                      0.284496736f) * t + 0.254829592f) * t;
    const float erf = 1.0f - p * real_exp(-a * a);

    return x < 0 ? -erf : erf;
}

#endif

/* x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3): GPT-2's x (1 + tanh u) / 2. */
#define GELU_U(x)     ((real)1.5957691216057308 * ((x) + (real)0.044715 * (x) * (x) * (x)))
#define GELU_SLOPE(x) ((real)1.5957691216057308 * (1 + (real)(3 * 0.044715) * (x) * (x)))

REAL_FUNCTION real gelu_tanh(real x)
{
    return x / (1 + real_exp(-GELU_U(x)));
}

REAL_FUNCTION real gelu_tanh_slope(real x)
{
    const real s = 1 / (1 + real_exp(-GELU_U(x)));

    return s + x * s * (1 - s) * GELU_SLOPE(x);
}

/* x times the cumulative normal distribution at x. */
REAL_FUNCTION real gelu_erf(real x)
{
    return x * (real)0.5 * (1 + real_erf(x * (real)0.70710678118654752));
}

REAL_FUNCTION real gelu_erf_slope(real x)
{
    return (real)0.5 * (1 + real_erf(x * (real)0.70710678118654752)) +
           x * (real)0.39894228040143268 * real_exp(x * x * (real)-0.5);
}

#endif
