package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed static
var staticFiles embed.FS

// StaticPath begins the path of every file that pages load.
const StaticPath = "/static/"

// asset is a file that pages load. Its path below StaticPath contains a digest: a browser keeps
// it for ever.
type asset struct {
	path string
	data []byte
}

// Assets are the files by name.
type Assets map[string]asset

// contentTypes are the types of files that are served; others are not.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

// Embedded returns the files in folder static.
func Embedded() Assets {
	a := Assets{}
	list, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // the path is a constant
	}
	for _, f := range list {
		name := f.Name()
		if contentTypes[path.Ext(name)] == "" {
			continue
		}
		data, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			panic(err)
		}
		a[name] = asset{Digest(data) + "/" + name, data}
	}
	return a
}

// Digest returns a short digest of data.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// URL returns the URL of a file, for templates.
func (a Assets) URL(name string) string { return StaticPath + a[name].path }

// Serve answers the request of a file.
func (a Assets) Serve(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	f, known := a[name]
	if !known || r.URL.Path != StaticPath+f.path {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}
