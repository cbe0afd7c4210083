package inspect

import (
	"bytes"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// attachments are texts that a sample holds once and refers to: a string that is
// a reference stands for the attachment.
type attachments struct {
	texts map[string][]byte // JSON strings
	added int               // bytes; a few references to one text may be more than any memory holds
}

const reference = `"attachment://`

func newAttachments(v []byte) *attachments {
	a := &attachments{texts: map[string][]byte{}}
	for key, text := range jsontext.Members(v) {
		if text[0] == '"' {
			a.texts[string(key)] = text
		}
	}
	return a
}

// resolve replaces the references in a value; those to nothing stay.
func (a *attachments) resolve(v []byte) []byte {
	if len(a.texts) == 0 || !bytes.Contains(v, []byte(reference)) {
		return v
	}
	var out []byte
	from := 0
	for i := 0; i < len(v); {
		if v[i] != '"' {
			i++
			continue
		}
		end := jsontext.Skip(v, i)
		if name, is := bytes.CutPrefix(v[i:end], []byte(reference)); is {
			if text, known := a.texts[string(bytes.TrimSuffix(name, []byte{'"'}))]; known {
				if a.added += len(text); a.added > importers.MaxDocument {
					must.Fail("the attachments that it refers to are larger than a document may be")
				}
				out = append(append(out, v[from:i]...), text...)
				from = end
			}
		}
		i = end
	}
	return append(out, v[from:]...)
}
