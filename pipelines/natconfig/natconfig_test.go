package natconfig

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/yamldoc"
	"github.com/rollmill/rollmill/storage/fault"
)

var update = flag.Bool("update", false, "rewrite the expected configs under testdata")

// TestConvert compares the result for each configuration under testdata with the
// file of the same name and the extension .rollmill.yaml.
func TestConvert(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d configurations, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, notes, err := Convert(filepath.Base(file), data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		expected := strings.TrimSuffix(file, ".yml") + ".rollmill.yaml"
		if *update {
			if err := os.WriteFile(expected, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(expected)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		flat := strings.Join(strings.Fields(strings.ReplaceAll(string(got), "#", "")), " ")
		for _, n := range notes {
			if !strings.Contains(flat, strings.Join(strings.Fields(n.Text), " ")) {
				t.Errorf("%s: no comment says %s", file, n)
			}
		}
	}
}

// TestRefused checks what is no configuration of NAT: each error names the line.
func TestRefused(t *testing.T) {
	const components = "trajectory_builders: {b: {_type: openpipe_art_traj_builder}}\n"
	for _, c := range []struct{ data, want string }{
		{"", "nat.yml:1: it has none of the sections of a NAT config"},
		{"- a\n", "nat.yml:1: not a mapping of sections"},
		{"a: [\nb: c\n", "nat.yml:1: not YAML"},
		{"rollout: {agent: chat}\n", "nat.yml:1: it has none of the sections of a NAT config"},
		{"a: b\n---\na: b\n", "more than one document"},
		{"finetuning: 5\n", "nat.yml:1: finetuning must be a mapping, not \"5\""},
		{"finetuning:\n  num_epochs: many\n", "nat.yml:2: finetuning.num_epochs must be a whole number, not \"many\""},
		{"finetuning:\n  num_epochs: 1.5\n", "nat.yml:2: finetuning.num_epochs must be a whole number"},
		{"finetuning:\n  enabled: maybe\n", "nat.yml:2: finetuning.enabled must be true or false, not \"maybe\""},
		{"finetuning:\n  output_dir: 7\n", "nat.yml:2: finetuning.output_dir must be text, not \"7\""},
		{"finetuning:\n  target_functions: f\n", "nat.yml:2: finetuning.target_functions must be a list of texts, not \"f\""},
		{"finetuning:\n  target_functions: [1]\n", "nat.yml:2: finetuning.target_functions must be a list of texts, not a list"},
		{"finetuning:\n  curriculum_learning: {enabled: true, initial_percentile: []}\n",
			"nat.yml:2: finetuning.curriculum_learning.initial_percentile must be a number, not a list"},
		{"finetuning:\n  enabled: true\n  enabled: false\n", `nat.yml:3: "enabled" is already set on line 2`},
		{components + "finetuning:\n  trajectory_builder: c\n", `nat.yml:3: finetuning.trajectory_builder: there is no "c" in trajectory_builders`},
		{"eval: {general: {dataset: {_type: json, filter: {allowlist: {field: {a: x}}}}}}\n", "must be a list of values"},
		{"eval: {evaluators: {a: 5}}\n", "nat.yml:1: eval.evaluators.a must be a mapping"},
		{"a: &a [1]\n<<: 5\n", "nat.yml:2: a merge key takes a mapping"},
	} {
		out, _, err := Convert("nat.yml", []byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s\n%s", c.data, err, c.want, out)
		}
		if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Kind != fault.Usage || fault.HintOf(e) == "" {
			t.Errorf("%q: %v is no usage error with a hint", c.data, err)
		}
	}
}

// TestSecretsAreNotCopied checks that no key is in the result or in a note.
func TestSecretsAreNotCopied(t *testing.T) {
	data, err := os.ReadFile("testdata/every-field-art.yml")
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile("testdata/every-field-customizer.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{data, other} {
		if !strings.Contains(string(data), "hush") {
			t.Fatal("the configuration holds no key: the test shows nothing")
		}
		out, notes, err := Convert("nat.yml", data)
		if err != nil || strings.Contains(string(out), "hush") {
			t.Errorf("%v: a key is in\n%s", err, out)
		}
		for _, n := range notes {
			if strings.Contains(n.String(), "hush") {
				t.Errorf("a key is in %s", n)
			}
		}
	}
}

// TestMerged checks anchors and merge keys, which NAT's parser applies.
func TestMerged(t *testing.T) {
	out, _, err := Convert("nat.yml",
		[]byte("x: &x {max_concurrency: 3}\neval:\n  general:\n    <<: [*x, {max_concurrency: 4}]\n    dataset: &d {_type: csv, file_path: a.txt}\n"))
	if err != nil || !strings.Contains(string(out), "concurrency: 3") || !strings.Contains(string(out), "examples-format: csv") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// FuzzConvert checks that any file is refused or becomes a file whose sections
// hold only values that a config file may have.
func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{"a: &a [*a]\n", "<<: {finetuning: {enabled: 1}}\n", "finetuning: {num_epochs: ${N}}\n", "eval: {evaluators: {\"\\n#\": {}}}\n",
		"? [a]\n: b\n", "finetuning: {output_dir: \"\\u2028: x\"}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, notes, err := Convert("nat.yml", data)
		if err != nil {
			return
		}
		var doc yaml.Node
		if err := yaml.Load(out, &doc); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		root := &doc
		if root.Kind == yaml.DocumentNode {
			root = root.Content[0]
		}
		keys := 0
		for i := 0; i+1 < len(root.Content); i += 2 {
			if value := root.Content[i+1]; value.Kind == yaml.MappingNode {
				keys += len(value.Content) / 2
			} else {
				keys++
			}
		}
		again := &converter{File: yamldoc.File{Name: "nat.yml"}}
		n, err := again.Root(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.file(n); err != nil || len(again.out) != keys || len(again.notes) != len(notes) {
			t.Fatalf("%v: %d keys of %d settings:\n%s", err, keys, len(again.out), out)
		}
		for _, n := range notes {
			if strings.ContainsAny(n.String(), "\n\r") {
				t.Fatalf("a note has several lines: %q", n)
			}
		}
	})
}
