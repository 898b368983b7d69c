/* apportion.h -- whole numbers whose sum is the rounded total
 *
 * Estimates are fractions, and most formats want integers.  Rounding each
 * part on its own would make their sum stray from the total that the report
 * gives; here the total is rounded, once, and shared out. */
#ifndef ALQI_CLI_ANALYSIS_APPORTION_H
#define ALQI_CLI_ANALYSIS_APPORTION_H

#include <stddef.h>
#include <stdint.h>

/* To the nearest, halves away from zero; INT64_MAX from 9e18 on. */
int64_t alqi_cli_whole(double x);

/* Cuts each part (none negative) to a whole number and hands out what total
 * has more, one each, to those that lost most, the earlier first: largest
 * remainders.  Only a part that lost anything gets one.  What is over then,
 * which takes sums beyond 2^53, is made good at the largest parts. */
void alqi_cli_apportion(int64_t *whole, const double *parts, size_t n,
                        int64_t total);

/* A column of n parts that lie each_bytes apart, apportioned to the rounded
 * total; to be freed. */
int64_t *alqi_cli_apportioned(const double *parts, size_t each_bytes, size_t n,
                              double total);

#endif
