#!/bin/sh
# Make a folder that tests and times the library on a bare machine.
#   bundle.sh BUILD OUT
# Besides the driver, cuBLASLt and the C library, what programs and tests load
# lies in OUT/lib; nccl-tests loads NCCL, too. `OUT/run.sh [REPORT_FOLDER]` does what
# `make gpu` does, `OUT/profile.sh` shows its kernels to ncu, `OUT/train.sh` trains.
# With a compiler there, `make CUDA=1 DEPS=OUT/deps` builds sources.
set -eu
build=$1
out=$2
max_bytes=$((48 * 1024 * 1024))

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/test" "$out/examples/models"
cp "$build"/examples/etx-* "$build/test/exatrkx-tests" "$build/test/nccl-tests" \
    "$out/bin/"
cp "$build"/lib/libexatrkx*.so.* "$out/lib/"
cp test/cuda/gpu.sh test/cuda/interop.py test/cuda/kernels.py "$out/test/"
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
    grep -vE '/(libc|libm|libdl|librt|libpthread|libcublas.*|libnccl|libexatrkx.*)\.so' |
    while read -r library; do cp -L "$library" "$out/lib/"; done

# What sources need that a machine with a compiler may lack.
mkdir -p "$out/deps/include" "$out/deps/lib"
cp /usr/include/zlib.h /usr/include/zconf.h /usr/include/check.h \
    /usr/include/check_stdint.h "$out/deps/include/"
for library in z subunit check_pic; do
    cp "$(${CC:-cc} -print-file-name=lib$library.a)" \
        "$out/deps/lib/lib${library%_pic}.a"
done

cat > "$out/run.sh" <<'RUN'
#!/bin/sh
# Test and time the library on this machine's GPU: run.sh [REPORT_FOLDER].
set -eu
cd "$(dirname "$0")"
here=$(pwd)
LD_LIBRARY_PATH=$here/lib:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# cuBLASLt and NCCL may be anywhere, as when they came with a Python package.
for library in libcublasLt.so.13 libnccl.so.2; do
    [ ! -e "/usr/local/cuda/lib64/$library" ] || continue
    if ldconfig -p 2> /dev/null | grep -q "$library"; then
        continue
    fi
    file=$(timeout 30 find / \( -path /proc -o -path /sys \) -prune -o \
        -name "$library" -print 2> /dev/null | head -n 1)
    [ -z "$file" ] || LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(dirname "$file")
done
exec test/gpu.sh "$here/bin" "$here/bin" "${1:-$here/report}"
RUN
for kind in profile train; do
    parts=$kind
    [ $kind = profile ] || parts=training
    cat > "$out/$kind.sh" << KIND
#!/bin/sh
# run.sh for another purpose (test/gpu.sh): $kind.sh [REPORT_FOLDER].
GPU_PARTS=$parts exec "\$(dirname "\$0")/run.sh" "\${1:-$kind}"
KIND
done
chmod +x "$out"/*.sh
bytes=$(du -sb "$out" | cut -f1)
echo "bundle: $out, $bytes bytes"
if [ "$bytes" -gt "$max_bytes" ]; then
    echo "bundle: more than $max_bytes bytes" >&2
    exit 1
fi
