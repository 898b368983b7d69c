"""The planner and seed 003's statements by integers alone: no rounding.

With p = 1 / 10,000, (1 - p)^n < t is 9,999^n < t 10,000^n, and a binomial tail
is a sum of such numbers."""
import json
from fractions import Fraction

import common

S = 10000
WORD = 8


def miss(words):
    """The numerator over S**words."""
    return (S - 1) ** words


def missed(words, k):
    """That so many words have fewer than k samples, over S**words."""
    term = miss(words)  # of no sample
    total = 0
    for j in range(k):
        total += term
        term = term * (words - j) // ((j + 1) * (S - 1))  # divides exactly
    return total


def is_below(numerator, words, t):
    return numerator * t.denominator < t.numerator * S ** words


class Exact(common.Case):
    def test_statements_of_the_seed(self):
        for mib, t in ((Fraction("1.62"), Fraction(1, 10 ** 9)),
                       (Fraction("2.5"), Fraction(1, 10 ** 14)),
                       (Fraction("8.8"), Fraction(1, 10 ** 50))):
            words = int(mib * 2 ** 20) // WORD
            self.assertTrue(is_below(miss(words), words, t), mib)
        words = 80 * 1024 // WORD
        self.assertTrue(is_below(miss(words), words, Fraction(36, 100)))

    def test_least_words_of_the_statements(self):
        """What stops a task that a token is set for, to the word."""
        for t in ("1e-9", "1e-14"):
            advice = self.advice("0w", t)
            words = advice["stop_words"]
            self.assertTrue(is_below(miss(words), words, Fraction(t)))
            self.assertFalse(is_below(miss(words - 1), words - 1, Fraction(t)))

    def advice(self, limit, t):
        return json.loads(self.ok("limits", "--json", "--limit", limit,
                                  "--safe", t))["advice"]

    def test_edges(self):
        """P[n words reach the limit] < t up to safe_words, and no further; and
        the same of words that do not, from stop_words on."""
        for k, t in ((1, "1e-9"), (2, "4e-15"), (5, "1e-9"), (10, "1e-9"),
                     (10, "4e-15"), (20, "4e-15"), (22, "4e-15"),
                     (20, "1e-50")):
            advice = self.advice("%dw" % (k * S), t)
            for n, is_safe in ((advice["safe_words"], True),
                               (advice["safe_words"] + 1, False)):
                reached = S ** n - missed(n, k)
                self.assertEqual(is_below(reached, n, Fraction(t)), is_safe,
                                 (k, t, n))
        for k, t in ((2, "1e-9"), (6, "4e-15")):
            n = self.advice("%dw" % (k * S), t)["stop_words"]
            self.assertTrue(is_below(missed(n, k), n, Fraction(t)))
            self.assertFalse(is_below(missed(n - 1, k), n - 1, Fraction(t)))

    def test_accuracy_of_the_seed(self):
        """Accurate, limit < 10 N or about, from N = 20 kw on; at 60 kw not."""
        t = Fraction("4e-15")
        n, k = 22000, 22  # of 220 kw
        self.assertTrue(is_below(S ** n - missed(n, k), n, t))
        n, k = 20000, 20  # of 200 kw: not quite
        self.assertFalse(is_below(S ** n - missed(n, k), n, t))
        n, k = 122, 6  # of 60 kw: five hundred times as much is not safe
        self.assertFalse(is_below(S ** n - missed(n, k), n, t))


if __name__ == "__main__":
    common.main()
