/* signal.c -- a signal that starts and stops sampling
 *
 * It is taken once, at start-up, and only where nobody has it; a program that
 * installs a handler of its own later replaces ours, as it may. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "preload/control.h"
#include "preload/preload.h"

static void
on_signal(int signal)
{
    (void)signal;
    alqi_preload_control_toggle();
}

void
alqi_preload_signal_install(void)
{
    struct sigaction before,
        ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int signal = alqi_preload_config.signal;
    char text[120];

    sigfillset(&ours.sa_mask);
    if (signal == 0)
        return;
    if (sigaction(signal, NULL, &before) == 0 &&
        (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL &&
        sigaction(signal, &ours, NULL) == 0)
        return;
    snprintf(text, sizeof text,
             "ALIQUOT: signal %d (%s) is handled or ignored already; it will "
             "not switch sampling",
             signal, sigdescr_np(signal) != NULL ? sigdescr_np(signal) : "?");
    alqi_preload_log(text);
}
