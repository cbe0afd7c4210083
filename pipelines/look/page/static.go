package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var staticFiles embed.FS

// StaticPath begins the path of every file that pages load.
const StaticPath = "/static/"

// Assets are the files that pages load. Their paths contain a digest of all: a browser keeps them
// for ever.
type Assets struct {
	fs.FS
	path string
}

// contentTypes are the types of files that are served; others are not.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

// Embedded returns the files in folder static.
func Embedded() Assets {
	files, err := fs.Sub(staticFiles, "static")
	names, _ := fs.Glob(files, "*.*")
	var all []byte
	for _, name := range names {
		data, readErr := fs.ReadFile(files, name)
		all, err = append(all, data...), errors.Join(err, readErr)
	}
	if err != nil {
		panic(err) // the paths are constants
	}
	return Assets{files, StaticPath + Digest(all) + "/"}
}

// Digest returns a short digest of data.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// URL returns the URL of a file, for templates.
func (a Assets) URL(name string) string { return a.path + name }

// Serve answers the request of a file.
func (a Assets) Serve(w http.ResponseWriter, r *http.Request) {
	name, known := strings.CutPrefix(r.URL.Path, a.path)
	kind := contentTypes[path.Ext(name)]
	if _, err := fs.Stat(a.FS, name); err != nil || !known || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeFileFS(w, r, a.FS, name)
}

//go:embed report.html
var report string

var fileTemplate = template.Must(template.Must(Templates(nil)).Parse(report))

// File returns the page of a run as one file, which needs no network and runs nothing.
func File(title string, run Run) ([]byte, error) {
	style := ""
	for _, name := range []string{"style.css", "reading.css"} {
		data, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		style += string(data)
	}
	sum := sha256.Sum256([]byte(style))
	var out bytes.Buffer
	err := fileTemplate.Execute(&out, struct {
		Run
		Title     string
		Style     template.CSS
		StyleHash string
	}{run, title, template.CSS(style), base64.StdEncoding.EncodeToString(sum[:])}) //nolint:gosec // our own
	return out.Bytes(), err
}
