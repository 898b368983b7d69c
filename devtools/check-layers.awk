# The reader behind check-layers: the table first, then every source file.
# Runs in the root of the tree; portable awk, nothing else.

function complain(where, rule, text)
{
    printf "%s: %s: %s\n", where, rule, text
    bad = 1
}

# The part of src/PART/file and of tests/kits/PART/file, "" for other files;
# PART/ROOM where a folder of a part has files of its own.
function part_of(path)
{
    if (sub(/^tests\/kits\//, "src/", path) == 0 && path !~ /^src\/[^\/]+\//)
        return ""
    sub(/^src\//, "", path)
    sub(/\/[^\/]*$/, "", path)
    return path
}

# A test, or what tests share: they alone may include "kits/PART/file.h".
function is_of_tests(path)
{
    return path ~ /_test\.c$/ || path ~ /^tests\/kits\//
}

function exists(path,    line, result)
{
    if (!(path in found)) {
        result = (getline line < path)
        close(path)
        found[path] = (result >= 0)
    }
    return found[path]
}

# A module is a .c and its .h taken as one: base/list for base/list.[ch].
function module_of(path)
{
    sub(/^src\//, "", path)
    sub(/(_test)?\.[chS]$/, "", path)
    return path
}

function edge(graph, from, to, where)
{
    if (!((graph, from, to) in seen)) {
        seen[graph, from, to] = where
        if (!((graph, from) in next_of))
            nodes[++n_nodes] = graph SUBSEP from
        next_of[graph, from] = next_of[graph, from] " " to
    }
}

# ---- the table

FILENAME == "src/LAYERS" {
    sub(/#.*/, "")
    if (NF == 0)
        next
    here = FILENAME ":" FNR
    if ($1 == "calls") {
        bound[$2] = $3
        bound_at[$2] = here
        next
    }
    if ($1 in level)
        complain(here, "table", "a second row for " $1)
    if ($2 !~ /^[0-9]+$/)
        complain(here, "table", "level of " $1 " is no number")
    level[$1] = $2
    row[$1] = here
    for (i = 3; i <= NF; i++) {
        if (!($i in level))
            complain(here, "table", $1 " names " $i ", which no row above has")
        else if (level[$i] >= level[$1])
            complain(here, "table", $1 " (level " $2 ") names " $i \
                " (level " level[$i] ")")
        allowed[$1, $i] = 1
    }
    next
}

# ---- doc/design/plat.md: files that name facilities of the system

FILENAME ~ /plat\.md$/ {
    if (match($0, /^\| src\/[^ ]+ \|/))
        listed[substr($0, 3, RLENGTH - 4)] = FILENAME ":" FNR
    next
}

# ---- the sources

FNR == 1 {
    part = part_of(FILENAME)
    top = part
    sub(/\/.*/, "", top)
    has_calls = (top in bound) && !is_of_tests(FILENAME)
    in_comment = 0
    before = ""
    if (part != "" && !(part in level) && !(part in told)) {
        told[part] = 1
        complain(FILENAME ":1", "table", "src/LAYERS has no row for " part)
    }
}

# The include guard of a header is its path.
/^#ifndef / && part != "" && FILENAME ~ /\.h$/ && !(FILENAME in guarded) {
    guarded[FILENAME] = 1
    wanted = toupper(FILENAME)
    sub(/^(SRC|TESTS)\//, "ALQI_", wanted)
    gsub(/[\/.-]/, "_", wanted)
    if ($2 != wanted)
        complain(FILENAME ":" FNR, "guard", $2 " is not " wanted)
}

/^[ \t]*#[ \t]*(if|elif|ifdef|ifndef)/ {
    if (part != "" && part != "plat" &&
        /__(linux|APPLE|FreeBSD|OpenBSD|NetBSD|sun)__|_WIN32|__ANDROID__/)
        complain(FILENAME ":" FNR, "port", "only src/plat asks which " \
            "operating system this is")
}

# A facility of the system or of a processor, outside of plat and of tests.
part != "" && part != "plat" && !is_of_tests(FILENAME) &&
        !/^[ \t]*(\/?\*)/ && FILENAME !~ /_test[^\/]*\.[ch]$/ {
    if (/#[ \t]*include[ \t]*<(sys\/(syscall|prctl|ptrace|signalfd|eventfd|epoll|timerfd|inotify|sendfile|random|auxv|ucontext|personality)|linux\/[a-z_]+|asm\/[a-z_]+|link|elf|ucontext|[a-z]*intrin|cpuid)\.h>/ ||
        /^[ \t]*#.*__(x86_64|aarch64)__/ || /__asm__/ || /"\/(proc|sys)\// ||
        /(^|[^a-z_])(syscall|prctl|mremap|dl_iterate_phdr|memfd_create)\(/ || /SO_PEERCRED/) {
        names_facility[FILENAME] = 1
        if (!(FILENAME in listed) && !(FILENAME in told)) {
            told[FILENAME] = 1
            complain(FILENAME ":" FNR, "port", "names a facility of the " \
                "system: put it behind src/plat, or into doc/design/plat.md")
        }
    }
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    target = $0
    sub(/^[^"]*"/, "", target)
    sub(/".*/, "", target)
    here = FILENAME ":" FNR
    beside = FILENAME
    sub(/[^\/]*$/, target, beside)
    if (FILENAME ~ /^examples\// && target !~ /\// && exists(beside))
        next
    if (FILENAME ~ /^include\// || FILENAME ~ /^examples\//) {
        complain(here, "public", "includes \"" target "\"; only <aliquot/...>")
        next
    }
    if (part == "")
        next
    inside(here, target)
}

/^[ \t]*#[ \t]*include[ \t]*<aliquot\// {
    target = $0
    sub(/^[^<]*</, "", target)
    sub(/>.*/, "", target)
    if (!exists("include/" target))
        complain(FILENAME ":" FNR, "path", "no include/" target)
    if (FILENAME ~ /^include\//)
        edge("header", FILENAME, "include/" target, FILENAME ":" FNR)
}

# One #include "target" of a file in src/.
function inside(here, target,    to, root)
{
    to = target
    root = "src/"
    if (sub(/^kits\//, "", to)) {
        if (!is_of_tests(FILENAME)) {
            complain(here, "kit", "only NAME_test.c may include " target)
            return
        }
        root = "tests/"
    }
    to = part_of("src/" to)
    if (target !~ /^[a-z0-9_]+\/[a-zA-Z0-9_.\/-]+$/ || target ~ /\.\./) {
        complain(here, "path", "\"" target "\" is not \"folder/file.h\"")
        return
    }
    if (!exists(root target)) {
        complain(here, "path", "no " root target)
        return
    }
    if (to != part && !((part, to) in allowed)) {
        complain(here, "layer", part " (level " level[part] \
            ") may not include " to " (level " level[to] "): " target)
        return
    }
    if (to == part) {
        if (FILENAME ~ /\.h$/)
            edge("header", FILENAME, root target, here)
        if (!is_of_tests(FILENAME) &&
            module_of(FILENAME) != module_of(target))
            edge("module", module_of(FILENAME), module_of(target), here)
    }
}

# ---- calls: who names a function that another module of the part defines

# The line without comments and strings.
function code_of(line,    out, at)
{
    gsub(/"([^"\\]|\\.)*"/, "", line)
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (at == 0)
                return out
            line = substr(line, at + 2)
            in_comment = 0
        }
        at = index(line, "/*")
        if (at == 0)
            return out line
        out = out substr(line, 1, at - 1)
        line = substr(line, at + 2)
        in_comment = 1
    }
    return out
}

# A name at the begin of a line, after a line with its type, is defined there:
# in a .c for everyone, in a .h when it is inline.  What a .h names in lines
# that are not indented are declarations.
has_calls {
    text = code_of($0)
    name = text
    if (text ~ /^alqi?_[a-z0-9_]+\(/ &&
        (FILENAME ~ /\.h$/) == (before ~ /^static /)) {
        sub(/\(.*/, "", name)
        defined_in[top, name] = module_of(FILENAME)
    }
    if (FILENAME ~ /\.c$/ || text ~ /^[ \t]/)
        while (match(text, /alqi?_[a-z0-9_]+/)) {
            name = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            if (FILENAME ~ /\.c$/ || text ~ /^\(/)
                named[top, module_of(FILENAME), name] = 1
        }
    before = $0
}

# Marks in set all that node reaches.
function reach(part, node, set,    list, n, i)
{
    n = split(calls[part, node], list, " ")
    for (i = 1; i <= n; i++)
        if (!(list[i] in set)) {
            set[list[i]] = 1
            reach(part, list[i], set)
        }
}

# The largest set of modules of a part that all reach each other.
function largest(part,    node, other, n, most, names, list)
{
    most = 0
    for (node in callers_of_part) {
        split(node, pair, SUBSEP)
        if (pair[1] != part)
            continue
        split("", forth)
        reach(part, pair[2], forth)
        if (!(pair[2] in forth))
            continue
        n = 0
        names = ""
        for (other in forth) {
            split("", back)
            reach(part, other, back)
            if (pair[2] in back) {
                n++
                names = names " " other
            }
        }
        if (n > most) {
            most = n
            list = names
        }
    }
    printf "calls: %s: %d files reach each other, at most %d may\n", part,
        most, bound[part]
    if (most > bound[part])
        complain(bound_at[part], "calls", part ": " most \
            " files reach each other, at most " bound[part] " may:" list)
}

function calls_check(    key, pair, to, part)
{
    for (key in named) {
        split(key, pair, SUBSEP)
        if (!((pair[1], pair[3]) in defined_in))
            continue
        to = defined_in[pair[1], pair[3]]
        if (to == pair[2] || (key_of[pair[1], pair[2], to]++))
            continue
        calls[pair[1], pair[2]] = calls[pair[1], pair[2]] " " to
        callers_of_part[pair[1], pair[2]] = 1
    }
    for (part in bound)
        largest(part)
}

# ---- rings: depth first, grey nodes are on the path

function visit(graph, node, depth,    list, n, i, k, chain, start)
{
    colour[graph, node] = "grey"
    path[depth] = node
    n = split(next_of[graph, node], list, " ")
    for (i = 1; i <= n; i++) {
        if (colour[graph, list[i]] == "grey") {
            start = depth
            while (path[start] != list[i])
                start--
            chain = ""
            for (k = start; k <= depth; k++)
                chain = chain path[k] " -> "
            complain(seen[graph, node, list[i]], "ring", chain list[i])
        } else if (colour[graph, list[i]] == "")
            visit(graph, list[i], depth + 1)
    }
    colour[graph, node] = "black"
}

END {
    for (file in listed)
        if (!(file in names_facility))
            complain(listed[file], "port", file " names no facility of the system")
    for (node = 1; node <= n_nodes; node++) {
        split(nodes[node], pair, SUBSEP)
        if (colour[pair[1], pair[2]] == "")
            visit(pair[1], pair[2], 1)
    }
    calls_check()
    exit bad
}
