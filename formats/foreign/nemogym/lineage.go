package nemogym

import (
	"bytes"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// lineage returns the records of a rollout's calls, each after the one that it
// names as its parent. A record that is there twice with the same bytes is one
// call; with others, or with a parent that is missing, nothing tells what the
// rollout was.
func lineage(list []byte) (ordered []jsontext.Object) {
	var all []jsontext.Object
	byID, raws := map[string]int{}, map[string][]byte{}
	for raw := range jsontext.Elements(list) {
		o := jsontext.ParseObject(raw)
		id := jsontext.Unquote(o.Get("model_call_id"))
		if first, twice := raws[id]; twice && id != "" {
			if !bytes.Equal(first, raw) {
				must.Fail("two calls of the rollout have the model_call_id %q", id)
			}
			continue
		}
		byID[id], raws[id] = len(all), raw
		all = append(all, o)
	}
	placed := make([]bool, len(all))
	for at := range all {
		var path []int // of ancestors that are to be placed
		for !placed[at] && len(path) <= len(all) {
			path = append(path, at)
			parent := jsontext.Unquote(all[at].Get("parent_call_id"))
			if parent == "" {
				break
			}
			next, known := byID[parent]
			if !known {
				must.Fail("the parent_call_id %q is none of the rollout's calls in the file", parent)
			}
			at = next
		}
		if len(path) > len(all) {
			must.Fail("the call %q is its own ancestor", jsontext.Unquote(all[at].Get("model_call_id")))
		}
		for _, i := range slices.Backward(path) {
			placed[i] = true
			ordered = append(ordered, all[i])
		}
	}
	return ordered
}
