#!/bin/bash
# compute-sanitizer's four tools on the programs of `planted.py prepare FOLDER`, on an H100: results.jsonl in the folder OUT.
# The program's own end first ("plain"), then the tools on each faulty one, then on each right one. Five minutes.
folder=$(cd "${1:-.}" && pwd); export OUT=${OUT:-$folder}; export MOST=${MOST:-330}; export BEGAN=$(date +%s)
export SAN=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer 2>/dev/null | head -1)
command -v nvcc > /dev/null || export PATH=$PATH:/usr/local/cuda/bin
build() {  # program, version, options, files, arguments
    cd "$folder/$2/$1" && timeout 150 nvcc -arch=sm_90 -lineinfo -std=c++17 $3 $4 -o program > build.txt 2>&1
    echo "{\"program\": \"$1\", \"version\": \"$2\", \"tool\": \"nvcc\", \"status\": $?}" >> "$OUT/results.jsonl"
}
one() {  # program, version, arguments, tool
    cd "$folder/$2/$1" && [ -x program ] || return
    [ $(($(date +%s) - BEGAN)) -lt "$MOST" ] || return
    local arguments=$3 log="$4.log" began=$(date +%s.%N); [ "$arguments" = - ] && arguments=
    case $4 in
        plain) timeout 20 ./program $arguments > "$log" 2>&1 < /dev/null;;
        memcheck) timeout 60 "$SAN" --tool memcheck --leak-check full --print-limit 20 ./program $arguments > "$log" 2>&1 < /dev/null;;
        *) timeout 60 "$SAN" --tool "$4" --print-limit 20 ./program $arguments > "$log" 2>&1 < /dev/null;;
    esac
    python3 - "$1" "$2" "$4" $? "$began" "$log" >> "$OUT/results.jsonl" <<'END'
import json, re, sys, time
program, version, tool, status, began, log = sys.argv[1:]
text = open(log, errors="replace").read()
said = [line.replace("=========", "").strip() for line in text.splitlines() if line.startswith("=========")]
said = [line for line in said if line and not line.startswith(("COMPUTE-SANITIZER", "Host Frame", "Saved host"))]
found = re.findall(r"(ERROR|RACECHECK|LEAK) SUMMARY: (\d+)", text)
print(json.dumps({"program": program, "version": version, "tool": tool, "status": int(status),
    "seconds": round(time.time() - float(began), 2), "summaries": found, "said": [line[:160] for line in said[:6]],
    "printed": [] if said else [line[:100] for line in text.strip().splitlines()[-2:]]}))
END
}
export -f build one; export folder
: > "$OUT/results.jsonl"
each() { awk -F'\t' -v v="$1" -v t="$2" '$2 == v { n = split(t, tool, " "); for (i = 1; i <= n; i++) print $1 "\n" $2 "\n" $5 "\n" tool[i] }' "$folder/run.tsv"; }
awk -F'\t' '{ print $1 "\n" $2 "\n" $3 "\n" $4 }' "$folder/run.tsv" | xargs -d '\n' -P 14 -n 4 bash -c 'build "$@"' _
echo "built after $(($(date +%s) - BEGAN)) s"
{ each right plain; each wrong plain; } | xargs -d '\n' -P 4 -n 4 bash -c 'one "$@"' _
each wrong "memcheck racecheck initcheck synccheck" | xargs -d '\n' -P 8 -n 4 bash -c 'one "$@"' _
each right "memcheck racecheck initcheck synccheck" | xargs -d '\n' -P 8 -n 4 bash -c 'one "$@"' _
{ "$SAN" --version | tail -1; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; nvcc --version | tail -2; date; } > "$OUT/machine.txt" 2>&1
cd "$folder" && tar -czf "$OUT/logs.tgz" */*/*.log */*/build.txt 2> /dev/null
echo "$(wc -l < "$OUT/results.jsonl") lines, $(($(date +%s) - BEGAN)) s"; cat "$OUT/machine.txt"
