/* report_curves.c - see report_curves.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/report_curves.h"

#include <math.h>

/* In SVG user units. */
#define WIDTH  760
#define HEIGHT 360
#define LEFT   70
#define TOP    20
#define RIGHT  150 /* room for the names */
#define BOTTOM 50

struct scale {
    double x_min, x_max; /* log2 of bytes */
    double y_min, y_max; /* log10 of GB/s */
};

static bool   find_scale(const struct report *report, struct scale *scale);
static void   print_axes(const struct scale *scale, FILE *out);
static int    print_curve(const struct report *report, const struct scale *scale, int first,
                          int number, FILE *out);
static bool   is_drawn(const struct report *report, const struct report_row *row);
static double x_of(const struct scale *scale, double bytes);
static double y_of(const struct scale *scale, double rate);

void report_curves(const struct report *report, FILE *out)
{
    struct scale scale;
    int          i = 0, number = 0;

    if (!find_scale(report, &scale))
        return;
    fprintf(out, "<h2>Bus bandwidth over size</h2>\n<svg id=\"curves\" viewBox=\"0 0 %d %d\" "
                 "width=\"%d\" role=\"img\" aria-label=\"bus bandwidth over message size\" "
                 "font-size=\"13\" font-family=\"system-ui,sans-serif\">\n",
            WIDTH, HEIGHT, WIDTH);
    print_axes(&scale, out);
    while (i < report->rows)
        if (is_drawn(report, &report->row[i]))
            i = print_curve(report, &scale, i, number++, out);
        else
            i++;
    fputs("</svg>\n", out);
}

static bool is_drawn(const struct report *report, const struct report_row *row)
{
    return row->bytes > 0 && report_busbw(report, row) > 0;
}

/* Finds the whole powers of two and ten around all points. */
static bool find_scale(const struct report *report, struct scale *scale)
{
    const struct report_row *row;
    bool                     found = false;
    double                   x, y;
    int                      i;

    for (i = 0; i < report->rows; i++) {
        row = &report->row[i];
        if (!is_drawn(report, row))
            continue;
        x = log2((double)row->bytes);
        y = log10(report_busbw(report, row));
        if (!found)
            *scale = (struct scale){ x, x, y, y };
        found = true;
        scale->x_min = fmin(scale->x_min, x);
        scale->x_max = fmax(scale->x_max, x);
        scale->y_min = fmin(scale->y_min, y);
        scale->y_max = fmax(scale->y_max, y);
    }
    if (!found)
        return false;
    scale->x_min = floor(scale->x_min);
    scale->x_max = fmax(ceil(scale->x_max), scale->x_min + 1);
    scale->y_min = floor(scale->y_min);
    scale->y_max = fmax(ceil(scale->y_max), scale->y_min + 1);
    return true;
}

static void print_axes(const struct scale *scale, FILE *out)
{
    static const char *const units[] = { "B", "K", "M", "G", "T" };
    const int                step = scale->x_max - scale->x_min > 14 ? 4 : 2;
    double                   at;
    int                      power;

    for (power = (int)scale->y_min; power <= (int)scale->y_max; power++) {
        at = y_of(scale, pow(10, power));
        fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                     "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, WIDTH - RIGHT, at, at, LEFT - 8, at + 4, pow(10, power));
    }
    for (power = (int)scale->x_min; power <= (int)scale->x_max; power += step) {
        at = x_of(scale, pow(2, power));
        fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#eee\"/>"
                     "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f%s</text>\n",
                at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 18, pow(2, power % 10),
                units[power / 10 < 4 ? power / 10 : 4]);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bytes</text>\n"
                 "<text x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\">"
                 "GB/s</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, HEIGHT / 2, HEIGHT / 2);
}

/* Prints the rows of one collective; returns the first row after them. */
static int print_curve(const struct report *report, const struct scale *scale, int first,
                       int number, FILE *out)
{
    static const char *const colors[] = { "#4269d0", "#c7511f", "#2c7a3f", "#8a3ffc", "#a05195",
                                          "#00707f" };
    const char              *color = colors[number % 6];
    const struct report_row *row = &report->row[first];
    const char              *name = row->collective->name;
    int                      i;

    fputs("<polyline fill=\"none\" stroke-width=\"2\" points=\"", out);
    for (i = first; i < report->rows && report->row[i].collective == row->collective; i++)
        if (is_drawn(report, &report->row[i]))
            fprintf(out, "%.1f,%.1f ", x_of(scale, (double)report->row[i].bytes),
                    y_of(scale, report_busbw(report, &report->row[i])));
    fprintf(out, "\" stroke=\"%s\"><title>%s</title></polyline>\n", color, name);
    fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", WIDTH - RIGHT + 12,
            TOP + 14 + 20 * number, color, name);
    return i;
}

static double x_of(const struct scale *scale, double bytes)
{
    return LEFT + (log2(bytes) - scale->x_min) / (scale->x_max - scale->x_min) *
                      (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct scale *scale, double rate)
{
    return HEIGHT - BOTTOM - (log10(rate) - scale->y_min) / (scale->y_max - scale->y_min) *
                                 (HEIGHT - BOTTOM - TOP);
}
