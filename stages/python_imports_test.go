package stages_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages"
)

// TestImportsOfAProgramAreItsFiles, however they are written; the standard library and
// installed packages are not.
func TestImportsOfAProgramAreItsFiles(t *testing.T) {
	place := t.TempDir() // of projects that are installed in place
	dir, shared, site := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "site-packages")
	for name, text := range map[string]string{
		"lib/reward.py": "import os, helper as h\nfrom rules import (strict,  # a comment\n  loose)\nimport json; import numpy\nfrom pkg import sub\n" +
			"def score(row):\n    import lazy\n    importlib.import_module(\n 'dynamic')\n    from shared.deep import \\\n  more\n",
		"lib/helper.py": "import chained\n", "lib/chained.py": "import helper\n", "lib/rules.py": "", "lib/lazy.py": "", "lib/dynamic.py": "",
		"lib/unused.py": "", "lib/pkg/__init__.py": "from .inner import x\nfrom . import other\n", "lib/pkg/inner.py": "from ..top import y\n",
		"lib/pkg/other.py": "", "lib/pkg/sub.py": "", "lib/pkg/unused.py": "", "lib/top.py": "", "lib/strict.py": "",
		"run.py":          "import lib.lazy\n",
		"src/main.py":     "import sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'extra'))\nsys.path += ['more', 'most']\nimport far, near, nearest\n",
		"env/bin/python3": "", "env/lib/python3.12/site-packages/_one.pth": filepath.Join(place, "src") + "\nimport os\n\nlib\n",
		"env/lib/python3.12/site-packages/__editable___two_0_1_finder.py": "import sys\nMAPPING: dict[str, str] = {'two': '" + filepath.Join(place, "two") + "'}\n",
		"env/lib/python3.12/site-packages/three.py":                       "", "env/lib/python3.12/site-packages/lib/four.py": "",
		"mine.py":      "from one.rules import r\nimport two.words, three, four\n",
		"extra/far.py": "", "src/more/near.py": "", "src/most/nearest.py": "", "src/far.py": "",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	for _, name := range []string{"src/one/__init__.py", "src/one/rules.py", "src/one/other.py", "two/__init__.py", "two/words.py"} {
		write(t, filepath.Join(place, name), "")
	}
	if err := os.Chmod(filepath.Join(dir, "env/bin/python3"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(shared, "shared/deep/more.py"), "")
	write(t, filepath.Join(site, "numpy.py"), "")
	t.Setenv("PYTHONPATH", strings.Join([]string{shared, site}, string(os.PathListSeparator)))
	t.Chdir(dir)
	for words, want := range map[string]string{
		"sh -m rollmill lib/reward.py:score": "PYTHONPATH/shared/deep/more.py lib/chained.py lib/dynamic.py lib/helper.py lib/lazy.py lib/pkg/__init__.py " +
			"lib/pkg/inner.py lib/pkg/other.py lib/pkg/sub.py lib/reward.py lib/rules.py lib/top.py sh",
		"sh -m run":               "lib/lazy.py run.py sh",
		"sh run.py x y":           "lib/lazy.py run.py sh",
		"env/bin/python3 mine.py": "env/bin/python3 mine.py site/one/__init__.py site/one/rules.py site/two/__init__.py site/two/words.py",
		"sh src/main.py":          "extra/far.py sh src/far.py src/main.py src/more/near.py src/most/nearest.py",
	} {
		got, err := stages.DigestWords(t.Context(), "", strings.Fields(words))
		if list := strings.Join(slices.Sorted(maps.Keys(got)), " "); err != nil || list != want {
			t.Errorf("%s: %v\n got %s\nwant %s", words, err, list, want)
		}
	}
	before, _ := stages.DigestWords(t.Context(), "", []string{"sh", "lib/reward.py:score"})
	write(t, filepath.Join(dir, "lib/chained.py"), "x = 1\n")
	after, _ := stages.DigestWords(t.Context(), "", []string{"sh", "lib/reward.py:score"})
	if before["lib/chained.py"] == after["lib/chained.py"] || before["lib/reward.py"] != after["lib/reward.py"] {
		t.Errorf("%v, %v", before, after)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
