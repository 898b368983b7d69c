/* nothing.c -- a library that does nothing: what a preload costs by itself */
int aliquot_test_nothing(void);

int
aliquot_test_nothing(void)
{
    return 0;
}
