package foreign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestFormats(t *testing.T) {
	names := map[string]bool{}
	for _, f := range Importers {
		if names[f.Name] || f.Name == "" || f.Help == "" || f.Spec == "" || len(f.Extensions) == 0 || f.Records == nil {
			t.Errorf("the format %q lacks something, or is listed twice", f.Name)
		}
		names[f.Name] = true
	}
}

// Every damaged file is refused, with an error that says where the damage is and
// what it is. The name of a file is that of its format and of the damage.
func TestDamagedFilesAreNamedErrors(t *testing.T) {
	const dir = "../../testdata/broken/import"
	paths, err := filepath.Glob(dir + "/*")
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	var got strings.Builder
	for _, path := range paths {
		name := filepath.Base(path)
		format, _, _ := strings.Cut(name, ".")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		refused := first(t, format, name, data)
		if refused == nil {
			t.Errorf("%s is imported", name)
			continue
		}
		hint := ""
		if in := (*fault.Error)(nil); errors.As(refused, &in) {
			hint = fault.HintOf(in)
		}
		fmt.Fprintf(&got, "%v\n", refused)
		if hint != "" {
			fmt.Fprintf(&got, "  hint: %s\n", hint)
		}
	}
	const golden = "testdata/damaged.txt"
	if *foreigntest.Update {
		if err := errors.Join(os.MkdirAll("testdata", 0o777), os.WriteFile(golden, []byte(got.String()), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("run with -update and read the diff:\n%s", diff)
	}
}

// first returns the first error of a file.
func first(t *testing.T, format, name string, data []byte) error {
	t.Helper()
	for i := range Importers {
		if f := &Importers[i]; f.Name == format {
			for p, err := range foreigntest.All(*f, importers.File{Name: name, R: bytes.NewReader(data), Size: int64(len(data)),
				Options: &importers.Options{}}) {
				if err = cmp.Or(err, p.Err); err != nil {
					if p.Err != nil {
						return p.Refused(name, "", p.Err)
					}
					return err
				}
			}
			return nil
		}
	}
	t.Errorf("%s: there is no format %q", name, format)
	return nil
}
