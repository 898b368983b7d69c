{ for (i = 1; i <= NF; i++) n[tolower($i)]++ }
END {
    for (w in n) { m++; s += n[w] * length(w) }
    print m, s, sprintf("%08.3f", s / 7)
}
