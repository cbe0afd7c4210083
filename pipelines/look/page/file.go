package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
)

// inFile has the blocks of the layout of a page that is one file.
const inFile = `{{define "kind"}} report{{end}}{{define "body"}} class="file"{{end}}{{define "main"}}{{template "run" .}}{{end}}
{{define "assets"}}<meta http-equiv="Content-Security-Policy" ` +
	`content="default-src 'none'; img-src data:; style-src 'sha256-{{.StyleHash}}'; form-action 'none'; base-uri 'none'">
<meta name="referrer" content="no-referrer">
<style>{{.Style}}</style>
{{end}}`

var fileTemplate = template.Must(template.Must(Templates(nil)).Parse(inFile))

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
