"""test_acorn_csv -- events of the ITk as acorn writes them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from support import LibraryCase

import exatrkx

TRUTH = """\
hit_id,x,y,z,cluster_index_1,cluster_index_2,hardware,cluster_x_1,cluster_y_1,\
cluster_z_1,barrel_endcap,layer_disk,eta_module,phi_module,cluster_x_2,cluster_y_2,\
cluster_z_2,particle_id,region,module_id
0,34.5,1.5,10,7,7,PIXEL,34.5,1.5,10,0,0,-3,2,34.5,1.5,10,1000000017,3,99
1,400,20,90,11,12,STRIP,399,21,88,0,1,5,31,401,19,92,1000000017,4,100
1,400,20,90,11,12,STRIP,399,21,88,0,1,5,31,401,19,92,1000000018,4,100
2,500,-30,1600,13,14,STRIP,499,-31,1600,2,4,11,0,501,-29,1604,0,6,101
"""
PARTICLES = """\
particle_id,subevent,barcode,px,py,pz,pt,eta,vx,vy,vz,radius,status,charge,pdgId,pass
1000000017,100,17,1000,50,-300,1001.25,-0.295,0.01,0.02,5,0.022,1,-1.0,11,YES
1000000018,100,18,700,0,0,700,0,0,0,5,0,1,1.0,211,YES
"""


class AcornCsv(LibraryCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = Path(folder.name) / "event000000001"
        self.write("truth", TRUTH)
        self.write("particles", PARTICLES)

    def write(self, kind: str, text: str) -> None:
        Path(f"{self.prefix}-{kind}.csv").write_text(text)

    def test_hits(self) -> None:
        event = exatrkx.Event.from_acorn(self.prefix)
        self.assertEqual(event.name, "event000000001")
        np.testing.assert_array_equal(event.hit_ids, [1, 2, 3])
        np.testing.assert_array_equal(event.positions[1], [400, 20, 90])
        volume, layer, module = event.modules
        np.testing.assert_array_equal(volume, [3, 4, 6])
        np.testing.assert_array_equal(layer, [0, 1, 4])
        self.assertEqual(len(set(module)), 3)

    def test_folder(self) -> None:
        """Known by its truth without hits."""
        (event,) = exatrkx.Events(self.prefix.parent)
        self.assertEqual((event.name, len(event)), ("event000000001", 3))

    def test_clusters(self) -> None:
        """A pixel has one; a strip of the endcaps its own position, as in acorn."""
        clusters = exatrkx.Event.from_acorn(self.prefix).cluster_positions
        np.testing.assert_array_equal(clusters[0], [[34.5, 1.5, 10]] * 2)
        np.testing.assert_array_equal(clusters[1], [[399, 21, 88], [401, 19, 92]])
        np.testing.assert_array_equal(clusters[2], [[500, -30, 1600]] * 2)

    def test_truth(self) -> None:
        """GeV."""
        event = exatrkx.Event.from_acorn(self.prefix)
        ids = [1000000017, 1000000017, 0]
        np.testing.assert_array_equal(event.particle_ids, ids)
        momentum = event.particles["momentum"][0]
        np.testing.assert_allclose(momentum, [1, 0.05, -0.3], rtol=1e-6)
        np.testing.assert_array_equal(event.particles["charge"], [-1, 1])

    def test_shared(self) -> None:
        """Further particles of a point, each once; a particle goes before noise."""
        rows, ids = exatrkx.Event.from_acorn(self.prefix).shared_hits
        self.assertEqual((rows.tolist(), ids.tolist()), ([1], [1000000018]))
        (*_, noise) = TRUTH.splitlines()
        owned = noise.replace(",0,6,", ",1000000018,6,")
        twice = TRUTH.splitlines()[2]
        self.write("truth", "\n".join((TRUTH.rstrip(), owned, owned, twice, "")))
        event = exatrkx.Event.from_acorn(self.prefix)
        np.testing.assert_array_equal(
            event.particle_ids, [1000000017, 1000000017, 1000000018]
        )
        self.assertEqual(event.shared_hits[0].tolist(), [1])
        np.testing.assert_array_equal(event.positions[2], [500, -30, 1600])

    def test_refused(self) -> None:
        self.write("truth", TRUTH.replace("cluster_z_2", "other"))
        with self.assertRaisesRegex(ValueError, "no column cluster_z_2"):
            exatrkx.Event.from_acorn(self.prefix)
        self.write("truth", TRUTH.replace(",34.5,", ",far,"))
        with self.assertRaises(ValueError):
            exatrkx.Event.from_acorn(self.prefix)
        with self.assertRaises(FileNotFoundError):
            exatrkx.Event.from_acorn(self.prefix.with_name("event2"))
