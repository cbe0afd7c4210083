package apis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
)

var (
	emptyText = []byte(`""`)
	emptyList = []byte("[]")
)

func field(key string, raw []byte) jsontext.Member { return jsontext.Member{Key: key, Raw: raw} }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("recorder: %T is not JSON", v)) // New checked it
	}
	return b
}

// objectOf returns a value as the JSON object that encode makes of it.
func objectOf(v any) jsontext.Object { return jsontext.ParseObject(encode(v)) }

func array(list [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
}

// orEmpty returns a value, or an empty text if there is none.
func orEmpty(raw []byte) []byte {
	if len(raw) == 0 {
		return emptyText
	}
	return raw
}
