package stages

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/regular"
)

// maxImports is the size of a Python file up to which its imports are looked for.
const maxImports = 16 << 20

// pythonImports are the statements by which a Python file names modules, and the
// calls that name one by a text. What only looks like one, in a comment or a text,
// names no file, or one too many.
var pythonImports = regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([^\n#;]*))|` +
	`(?:import_module|__import__)\(\s*["']([\w.]+)["']`)

// importScan finds the Python files that a program in a file imports from its own
// folder, PYTHONPATH and projects installed in place, and those that they import. It reads files and starts
// nothing, so that an identity is known before the program runs.
type importScan struct {
	names, folders []string          // the path on which modules are looked for; names are those of an identity
	found          map[string]string // files by their names
}

// localImports returns the files that a word of python's arguments names by importing them:
// the word is a Python file, or a module after -m in dir.
func localImports(dir, python, word string, module bool) map[string]string {
	s := &importScan{found: map[string]string{}}
	file := word
	if !filepath.IsAbs(word) {
		file = filepath.Join(dir, word)
	}
	if module {
		s.names, s.folders = []string{""}, []string{dir}
	} else {
		s.names, s.folders = []string{filepath.Dir(word)}, []string{filepath.Dir(file)}
	}
	for _, folder := range filepath.SplitList(os.Getenv("PYTHONPATH")) {
		if !strings.HasSuffix(filepath.Clean(folder), "-packages") {
			s.names, s.folders = append(s.names, "PYTHONPATH"), append(s.folders, folder)
		}
	}
	s.inPlace(dir, python)
	if module {
		s.module("", "", word)
	} else {
		s.read(word, file)
	}
	return s.found
}

var (
	packageFolders = []string{"lib/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages",
		".local/lib/python3*/site-packages"}
	finderMapping = regexp.MustCompile(`(?m)^MAPPING\b.*$`)
)

// inPlace adds the folders of projects that are installed in place, as pip install -e leaves
// them beside the packages of an interpreter: the lines of *.pth files, and the mapping of setuptools' finders.
// Another program than python, such as uv, is taken to use the active environment or .venv.
func (s *importScan) inPlace(dir, python string) {
	prefixes := []string{os.Getenv("VIRTUAL_ENV"), filepath.Join(dir, ".venv")}
	if strings.ContainsRune(python, os.PathSeparator) && !filepath.IsAbs(python) {
		python = filepath.Join(dir, python)
	}
	if found, err := exec.LookPath(python); err == nil && strings.HasPrefix(filepath.Base(python), "python") {
		prefixes = []string{filepath.Dir(filepath.Dir(found)), os.Getenv("HOME")} // an environment's python is a link
	}
	for _, prefix := range prefixes {
		for _, folder := range packageFolders {
			files, _ := filepath.Glob(filepath.Join(cmp.Or(prefix, "/dev/null"), folder, "*.p*"))
			for _, file := range files {
				switch name := filepath.Base(file); {
				case strings.HasSuffix(name, ".pth"):
					text, _ := regular.ReadFile(file, maxImports)
					for line := range strings.Lines(string(text)) {
						s.site(strings.TrimSpace(line))
					}
				case strings.HasPrefix(name, "__editable__") && strings.HasSuffix(name, ".py"):
					text, _ := regular.ReadFile(file, maxImports)
					for _, m := range texts.FindAllStringSubmatch(finderMapping.FindString(string(text)), -1) {
						s.site(filepath.Dir(m[1]))
					}
				}
			}
		}
	}
}

// site adds a folder that is no folder of installed packages.
func (s *importScan) site(folder string) {
	if info, err := os.Stat(folder); err == nil && info.IsDir() && filepath.IsAbs(folder) && !strings.HasSuffix(filepath.Clean(folder), "-packages") {
		s.names, s.folders = append(s.names, "site"), append(s.folders, folder)
	}
}

// read adds what a file imports.
func (s *importScan) read(name, file string) {
	text, err := regular.ReadFile(file, maxImports)
	if err != nil {
		return // whoever reads its digest says so
	}
	for _, line := range pythonPath.FindAllString(string(text), -1) {
		s.path(name, file, line)
	}
	for _, m := range pythonImports.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\\\n", " "), -1) {
		from, members, modules, text := m[1], m[2], m[3], m[4]
		for _, module := range listed(modules + "," + text) {
			s.module(name, file, module)
		}
		if from == "" {
			continue
		}
		s.module(name, file, from)
		if !strings.HasSuffix(from, ".") {
			from += "."
		}
		for _, member := range listed(members) { // each may be a module of the package
			s.module(name, file, from+member)
		}
	}
}

// pythonPath are the lines that add folders to the path on which modules are looked for, and texts are in them.
var (
	pythonPath = regexp.MustCompile(`(?m)^[^#\n]*\bsys\.path\b[^\n]*(?:insert|append|extend|=)[^\n]*|^[^#\n]*\bsite\.addsitedir\b[^\n]*`)
	texts      = regexp.MustCompile(`["']([^"'\n]*)["']`)
)

// path adds the folders that the texts of a line name, each and together, below that of the file or
// those around it: what an expression such as Path(__file__).parent.parent is, only Python knows.
func (s *importScan) path(name, file, line string) {
	var below []string
	for _, m := range texts.FindAllStringSubmatch(line, -1) {
		below = append(below, m[1])
	}
	below = append(below, filepath.Join(below...))
	named, folder := filepath.Dir(name), filepath.Dir(file)
	for range 3 {
		for _, each := range below {
			at, to := filepath.Join(named, each), filepath.Join(folder, each)
			if filepath.IsAbs(each) {
				at, to = each, each
			}
			if !slices.Contains(s.folders, to) {
				s.names, s.folders = append(s.names, at), append(s.folders, to)
			}
		}
		named, folder = filepath.Join(named, ".."), filepath.Dir(folder)
	}
}

// listed returns the names in a list such as "a.b as c, d".
func listed(list string) (out []string) {
	for item := range strings.SplitSeq(strings.Trim(list, "() \t\r"), ",") {
		if words := strings.Fields(item); len(words) > 0 && words[0][0] != '#' {
			out = append(out, words[0])
		}
	}
	return out
}

// module adds the files of a module and of the packages around it, from each
// folder that has any: which of them Python takes depends on the order of its path. A module that begins with dots is relative to the file's folder.
func (s *importScan) module(name, file, module string) {
	bare := strings.TrimLeft(module, ".")
	names, folders := s.names, s.folders
	if up := len(module) - len(bare); up > 0 {
		names, folders = []string{filepath.Dir(name)}, []string{filepath.Dir(file)}
		for range up - 1 {
			names[0], folders[0] = filepath.Dir(names[0]), filepath.Dir(folders[0])
		}
	}
	parts := strings.Split(bare, ".")
	for i, folder := range folders {
		for n := range parts {
			below := filepath.Join(parts[:n+1]...)
			for _, end := range []string{filepath.Join(below, "__init__.py"), below + ".py"} {
				if end == ".py" || !isFile(folder, end) {
					continue
				}
				if name, file := filepath.Join(names[i], end), filepath.Join(folder, end); s.found[name] == "" {
					s.found[name] = file
					s.read(name, file)
				}
			}
		}
	}
}
