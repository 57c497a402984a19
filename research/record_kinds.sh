#!/bin/bash
# compute-sanitizer on each kernel of kinds.cu, on an H100: table.md and logs.txt in the folder OUT. Two minutes.
here=$(cd "$(dirname "$0")/../tests/golden" && pwd); work=$(mktemp -d); cd "$work"; : "${OUT:=$work}"
san=$(command -v compute-sanitizer) || { echo "compute-sanitizer and nvcc must be on PATH"; exit 1; }
timeout 90 nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a -lineinfo -o kinds "$here/kinds.cu" > "$OUT/compile.txt" 2>&1 || { cat "$OUT/compile.txt"; exit 1; }
names=$(grep -o 'ROW([a-z_]*, [12])' "$here/kinds.cu" | sed 's/ROW(//; s/,.*//')
one() {  # kernel, tool
    case $2 in
        plain) timeout 10 ./kinds "$1" > "$1.plain" 2>&1; echo "rc $?" >> "$1.plain";;
        *) timeout 15 "$san" --tool "$2" --print-limit 20 ./kinds "$1" > "$1.$2" 2>&1; echo "rc $?" >> "$1.$2";;
    esac
}
export -f one; export san
for n in $names; do for t in plain memcheck racecheck synccheck initcheck; do echo "$n $t"; done; done |
    timeout 100 xargs -P 6 -L 1 bash -c 'one $0 $1'
short() {  # what a tool's log says
    [ -f "$1" ] || { echo "not run"; return; }
    local said=$(grep -o 'SUMMARY: [0-9]* [a-z]*\( displayed\)\?\( ([^)]*)\)\?' "$1" | head -1 | sed 's/SUMMARY: //')
    local kind=$(grep -m1 -o '========= \(Error\|Warning\|Barrier error\|Invalid\|Race\|Uninitialized\|Potential\|Program\|Fatal\)[^.=]*' "$1" | sed 's/========= //' | cut -c1-90)
    case $(tail -1 "$1") in "rc 124") said="hangs $said";; esac
    echo "${said:-?}${kind:+: $kind}"
}
{ $san --version | tail -1; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; nvcc --version | tail -1; echo
echo "| kernel | alone | memcheck | racecheck | synccheck | initcheck |"; echo "|---|---|---|---|---|---|"
for n in $names; do
    echo "| $n | $(head -1 "$n.plain" | sed "s/$n: //"); $(tail -1 "$n.plain") | $(short "$n.memcheck") | $(short "$n.racecheck") | $(short "$n.synccheck") | $(short "$n.initcheck") |"
done; } > "$OUT/table.md"
for f in *.memcheck *.racecheck *.synccheck *.initcheck; do echo "##### $f"; head -40 "$f"; done > "$OUT/logs.txt"
cat "$OUT/table.md"
