#!/bin/sh
# Make a folder that tests and times the library on a bare machine.
#   bundle.sh BUILD OUT
# Besides the driver, cuBLASLt and the C library, what programs and tests load
# lies in OUT/lib. `OUT/run.sh [REPORT_FOLDER]` does what `make gpu` does.
set -eu
build=$1
out=$2
max_bytes=$((48 * 1024 * 1024))

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/test" "$out/examples/models"
cp "$build"/examples/etx-* "$build/test/exatrkx-tests" "$out/bin/"
cp "$build"/lib/libexatrkx*.so.* "$out/lib/"
cp test/cuda/gpu.sh test/cuda/interop.py "$out/test/"
mkdir -p "$out/examples/studies" "$out/bindings/python"
cp -r examples/studies/peers "$out/examples/studies/"
cp -r bindings/python/exatrkx "$out/bindings/python/"
find "$out" -name __pycache__ -prune -exec rm -rf {} +
cp -r examples/data "$out/examples/"
cp examples/models/*.safetensors "$out/examples/models/"
cp -r examples/configs "$out/examples/"
strip --strip-unneeded "$out"/bin/* "$out"/lib/*
cp "$build/test/device-suites" "$out/bin/"

# What is neither the C library's nor CUDA's.
for file in "$out"/bin/e* "$out"/lib/*; do
    LD_LIBRARY_PATH=$out/lib ldd "$file"
done | awk '$3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libcublas.*|libexatrkx.*)\.so' |
    while read -r library; do cp -L "$library" "$out/lib/"; done

cat > "$out/run.sh" <<'RUN'
#!/bin/sh
# Test and time the library on this machine's GPU: run.sh [REPORT_FOLDER].
set -eu
cd "$(dirname "$0")"
here=$(pwd)
LD_LIBRARY_PATH=$here/lib:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# cuBLASLt may be anywhere, as when it came with a Python package.
if [ ! -e /usr/local/cuda/lib64/libcublasLt.so.13 ] &&
    ! ldconfig -p 2> /dev/null | grep -q 'libcublasLt\.so\.13'; then
    file=$(timeout 30 find / \( -path /proc -o -path /sys \) -prune -o \
        -name libcublasLt.so.13 -print 2> /dev/null | head -n 1)
    [ -z "$file" ] || LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(dirname "$file")
fi
exec test/gpu.sh "$here/bin" "$here/bin" "${1:-$here/report}"
RUN
chmod +x "$out/run.sh"
bytes=$(du -sb "$out" | cut -f1)
echo "bundle: $out, $bytes bytes"
if [ "$bytes" -gt "$max_bytes" ]; then
    echo "bundle: more than $max_bytes bytes" >&2
    exit 1
fi
