"""What tools/deny refuses, and what it lets pass."""
import copy
import importlib.machinery
import importlib.util
import pathlib
import unittest

TOOL = str(pathlib.Path(__file__).resolve().parent.parent / "deny")
LOADER = importlib.machinery.SourceFileLoader("deny", TOOL)
deny = importlib.util.module_from_spec(importlib.util.spec_from_loader("deny", LOADER))
LOADER.exec_module(deny)

RULES = {
    "graph": {"all-features": True},
    "advisories": {"yanked": "deny"},
    "licenses": {"allow": ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]},
    "bans": {"multiple-versions": "warn", "wildcards": "deny", "allow-wildcard-paths": True,
             "deny": [{"crate": "chrono", "reason": "jiff formats dates"}]},
    "sources": {"unknown-registry": "deny", "unknown-git": "deny"},
}


def package(name, **changes):
    return {"id": name, "name": name, "version": "1.0.0", "license": "MIT", "source": deny.CRATES_IO, "dependencies": [], **changes}


def found(*packages, rules=RULES, members=("own",)):
    nodes = [{"id": each["id"]} for each in packages]
    return list(deny.complaints(rules, {"packages": list(packages), "workspace_members": list(members), "resolve": {"nodes": nodes}}))


class TestDeny(unittest.TestCase):
    def test_licences(self):
        for text in ("MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "MIT AND Apache-2.0", "(GPL-3.0 OR MIT) AND Unicode-3.0",
                     "Apache-2.0 WITH LLVM-exception OR GPL-2.0", "((MIT))"):
            self.assertEqual(found(package("a", license=text)), [], text)
        for text in (None, "", "GPL-3.0", "MIT AND GPL-3.0", "MIT OR", "(MIT", "MIT)", "OR", "MIT MIT", "(GPL-3.0 OR MIT) AND GPL-3.0",
                     "Apache-2.0 WITH Classpath-exception-2.0", "WITH"):
            self.assertEqual(len(found(package("a", license=text))), 1, text)

    def test_sources(self):
        self.assertEqual(found(package("own", source=None)), [])
        for source in ("git+https://example.org/a#1", "registry+https://example.org/index", "sparse+https://example.org/"):
            self.assertEqual(len(found(package("a", source=source))), 1, source)

    def test_bans(self):
        self.assertIn("jiff formats dates", found(package("chrono"))[0])
        any_version = [{"name": "b", "req": "*", "path": None}]
        self.assertIn("any version of b", found(package("own", source=None, dependencies=any_version))[0])
        # What others write in their manifests is not ours to change.
        self.assertEqual(found(package("a", dependencies=any_version)), [])
        by_path = [{"name": "b", "req": "*", "path": "/b"}]
        self.assertEqual(found(package("own", source=None, dependencies=by_path)), [])

    def test_versions(self):
        twice = [package("a"), package("a", id="a2", version="2.0.0")]
        self.assertEqual(found(*twice), [])
        rules = copy.deepcopy(RULES)
        rules["bans"]["multiple-versions"] = "deny"
        self.assertIn("1.0.0, 2.0.0", found(*twice, rules=rules)[0])

    def test_what_is_not_in_the_graph_is_not_judged(self):
        metadata = {"packages": [package("chrono")], "workspace_members": [], "resolve": {"nodes": []}}
        self.assertEqual(list(deny.complaints(RULES, metadata)), [])

    def test_what_is_locked_for_other_systems_is_judged_by_name_and_source(self):
        metadata = {"packages": [package("a")], "workspace_members": [], "resolve": {"nodes": [{"id": "a"}]}}
        judged = lambda *locked: list(deny.complaints(RULES, metadata, locked))
        self.assertEqual(judged({"name": "a", "version": "1.0.0"}, {"name": "own", "version": "0.1.0"}), [])
        self.assertEqual(len(judged({"name": "chrono", "version": "1.0.0", "source": deny.CRATES_IO})), 1)
        self.assertEqual(len(judged({"name": "b", "version": "1.0.0", "source": "git+https://example.org/b"})), 1)

    def test_a_setting_that_is_not_known_is_told(self):
        for section, name in (("licenses", "exceptions"), ("bans", "skip"), ("sources", "allow-git"), ("output", "x")):
            rules = copy.deepcopy(RULES)
            rules.setdefault(section, {})[name] = []
            self.assertTrue(any(section in line for line in found(rules=rules)), section)


if __name__ == "__main__":
    unittest.main()
