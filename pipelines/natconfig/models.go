package natconfig

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// modelKeys are the fields of NAT's llms that name the model, by which its steps
// call it.
var modelKeys = []string{"model_name", "model", "azure_deployment"}

// targetModel sets the model that trains. NAT's documents give a key of llms,
// while steps are compared by the name of the model.
func (c *converter) targetModel(b, f block) error {
	const path, to = "finetuning.target_model", "rollout.target-model"
	n := f.at["target_model"]
	if n == nil {
		return nil
	}
	value, err := c.copy(n)
	if err != nil {
		return err
	}
	c.checkReference(path, n, to)
	names, err := c.models(b)
	if err != nil {
		return err
	}
	note := "compared with the model as NAT's steps name it (model_name)"
	at := slices.IndexFunc(names, func(p pair) bool { return p.key.Value == n.Value })
	switch {
	case slices.ContainsFunc(names, func(p pair) bool { return p.value != nil && p.value.Value == n.Value }):
	case at >= 0 && names[at].value == nil:
		note += "; a key of llms whose model is not named there: write its name"
	case at >= 0:
		if value, err = c.copy(names[at].value); err != nil {
			return err
		}
		c.checkReference(join("llms", n.Value), names[at].value, to)
		note += ", so the key of llms became the name of its model"
	case names != nil && !isReference(n.Value):
		note += "; it is no key of llms and no model there: llms has " + listed(names)
	}
	c.put(to, typed(value, word))
	c.note(path, n, Changed, to, note)
	return nil
}

// models returns the keys of llms, each with the name of its model; nil for none.
func (c *converter) models(b block) ([]pair, error) {
	out, err := c.pairs(b.at["llms"], 0)
	for i := range out {
		if out[i].value, err = c.modelOf(out[i]); err != nil {
			return nil, err
		}
	}
	return out, err
}

func (c *converter) modelOf(llm pair) (*yaml.Node, error) {
	if llm.value.Kind != yaml.MappingNode {
		return nil, nil
	}
	pairs, err := c.pairs(llm.value, 0)
	for _, key := range modelKeys {
		for _, p := range pairs {
			if p.key.Value == key && p.value.Kind == yaml.ScalarNode && !absent(p.value) {
				return p.value, err
			}
		}
	}
	return nil, err
}

func listed(llms []pair) string {
	var out []string
	for _, p := range llms {
		text := p.key.Value
		if p.value != nil {
			text += " (" + p.value.Value + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
