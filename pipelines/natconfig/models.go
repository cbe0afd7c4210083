package natconfig

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/yamldoc"
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
	at := slices.IndexFunc(names, func(p yamldoc.Pair) bool { return p.Key.Value == n.Value })
	switch {
	case slices.ContainsFunc(names, func(p yamldoc.Pair) bool { return p.Value != nil && p.Value.Value == n.Value }):
	case at >= 0 && names[at].Value == nil:
		note += "; a key of llms whose model is not named there: write its name"
	case at >= 0:
		if value, err = c.copy(names[at].Value); err != nil {
			return err
		}
		c.checkReference(join("llms", n.Value), names[at].Value, to)
		note += ", so the key of llms became the name of its model"
	case names != nil && !isReference(n.Value):
		note += "; it is no key of llms and no model there: llms has " + listed(names)
	}
	c.put(to, typed(value, word))
	c.note(path, n, Changed, to, note)
	return nil
}

// models returns the keys of llms, each with the name of its model; nil for none.
func (c *converter) models(b block) ([]yamldoc.Pair, error) {
	out, err := c.Pairs(b.at["llms"])
	for i := range out {
		if out[i].Value, err = c.modelOf(out[i]); err != nil {
			return nil, err
		}
	}
	return out, err
}

func (c *converter) modelOf(llm yamldoc.Pair) (*yaml.Node, error) {
	if llm.Value.Kind != yaml.MappingNode {
		return nil, nil
	}
	pairs, err := c.Pairs(llm.Value)
	for _, key := range modelKeys {
		for _, p := range pairs {
			if p.Key.Value == key && p.Value.Kind == yaml.ScalarNode && !yamldoc.Null(p.Value) {
				return p.Value, err
			}
		}
	}
	return nil, err
}

func listed(llms []yamldoc.Pair) string {
	var out []string
	for _, p := range llms {
		text := p.Key.Value
		if p.Value != nil {
			text += " (" + p.Value.Value + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
