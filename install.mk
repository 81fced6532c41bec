# Install, remove and pack what the Makefile builds.

.PHONY: install uninstall dist sbom

# Data, models and configs of the programs.
SHIPPED := $(wildcard examples/data/*.csv.gz examples/models/*.safetensors \
    examples/configs/*.json)

# What the files of pkgconfig/ say of this build and where it goes.
FILL_IN = sed -e 's|@VERSION@|$(VERSION)|; s|@MAJOR@|$(MAJOR)|' -e \
    "s|@PREFIX_FROM_LIBDIR@|$$(realpath -ms --relative-to=$(LIBDIR) $(PREFIX))|" \
    -e 's| *@LDLIBS_CUDA@| $(LDLIBS_CUDA)|' -e 's| *$$||'

install: all
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/bin \
	    $(DESTDIR)$(PREFIX)/include/exatrkx $(DESTDIR)$(DATADIR)/data \
	    $(DESTDIR)$(DATADIR)/models $(DESTDIR)$(DATADIR)/configs
	install -m 644 include/exatrkx/*.h include/exatrkx/*.hpp \
	    $(DESTDIR)$(PREFIX)/include/exatrkx/
	install -m 755 $(SONAME) $(DESTDIR)$(LIBDIR)/
	ln -sf libexatrkx.so.$(MAJOR) $(DESTDIR)$(LIBDIR)/libexatrkx.so
	install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)/
	install -m 755 $(DIST_SONAME) $(DESTDIR)$(LIBDIR)/
	ln -sf libexatrkx_dist.so.$(MAJOR) $(DESTDIR)$(LIBDIR)/libexatrkx_dist.so
	install -d $(DESTDIR)$(LIBDIR)/cmake/exatrkx
	for file in exatrkx exatrkx-dist; do $(FILL_IN) pkgconfig/$$file.pc.in \
	    > $(DESTDIR)$(LIBDIR)/pkgconfig/$$file.pc || exit 1; done
	for file in exatrkx-config exatrkx-config-version; do \
	    $(FILL_IN) pkgconfig/$$file.cmake.in \
	    > $(DESTDIR)$(LIBDIR)/cmake/exatrkx/$$file.cmake || exit 1; done
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin/
	install -d $(DESTDIR)$(MANDIR)/man1
	for program in $(notdir $(PROGRAMS)); do \
	    help=$$($(BUILD)/examples/$$program --help) && printf '%s\n' "$$help" | \
	    awk -v name=$$program -v version=$(VERSION) -f docs/man.awk \
	    > $(DESTDIR)$(MANDIR)/man1/$$program.1 || exit 1; done
	install -m 644 $(filter examples/data/%,$(SHIPPED)) $(DESTDIR)$(DATADIR)/data/
	install -m 644 $(filter examples/models/%,$(SHIPPED)) \
	    $(DESTDIR)$(DATADIR)/models/
	install -m 644 $(filter examples/configs/%,$(SHIPPED)) \
	    $(DESTDIR)$(DATADIR)/configs/

# Others may have files in DATADIR: what is not ours stays, with its folder.
uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/libexatrkx.so* \
	    $(DESTDIR)$(LIBDIR)/libexatrkx.a \
	    $(DESTDIR)$(LIBDIR)/libexatrkx_dist.so* \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/exatrkx.pc \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/exatrkx-dist.pc \
	    $(PROGRAM_SOURCES:examples/%.c=$(DESTDIR)$(PREFIX)/bin/%) \
	    $(PROGRAM_SOURCES:examples/%.c=$(DESTDIR)$(MANDIR)/man1/%.1)
	rm -rf $(DESTDIR)$(PREFIX)/include/exatrkx \
	    $(DESTDIR)$(LIBDIR)/cmake/exatrkx
	rm -f $(patsubst examples/%,$(DESTDIR)$(DATADIR)/%,$(SHIPPED))
	for folder in $(DESTDIR)$(DATADIR)/data $(DESTDIR)$(DATADIR)/models \
	    $(DESTDIR)$(DATADIR)/configs $(DESTDIR)$(DATADIR); do if [ -d $$folder ]; then \
	    rmdir --ignore-fail-on-non-empty $$folder; fi; done

dist:
	@git archive --prefix=libexatrkx-$(VERSION)/ \
	    -o libexatrkx-$(VERSION).tar.gz HEAD

# Software bill of materials (SPDX): what is installed, and the packages that it is
# linked with.
sbom: all
	@python3 docs/packaging/sbom.py $(VERSION) \
	    $(patsubst -l%,--static=%,$(filter %_static,$(LDLIBS_CUDA))) $(SONAME) $(STATIC) \
	    $(DIST_SONAME) $(PROGRAMS) $(SHIPPED) > $(BUILD)/sbom.spdx.json
	@echo "  sbom  $(BUILD)/sbom.spdx.json"
