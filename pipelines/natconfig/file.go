package natconfig

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/stages/plugin"
)

// server is where rollout finds the workflow, unless NAT_SERVER says otherwise.
const server = "http://127.0.0.1:8080"

// file converts the whole file.
func (c *converter) file(root *yaml.Node) error {
	b, err := c.read("", root, top)
	if err != nil {
		return err
	}
	if len(b.at) == 0 {
		return c.Refuse(root, "name the file that `nat finetune --config_file` reads",
			"it has none of the sections of a NAT config, such as finetuning, eval, llms and workflow")
	}
	c.stays(b)
	c.put("rollout.agent", text("nat: ${NAT_SERVER:-"+server+"}"))
	c.note("workflow", b.at["workflow"], Changed, "rollout.agent",
		fmt.Sprintf("start its server with `nat serve --config_file %s --port 8080`, on another port than the model's; the "+
			"model's configuration in llms must set logprobs: true and, "+
			"if its engine is not one that ART started, model_kwargs: {extra_body: "+
			"{return_tokens_as_token_ids: true}}", c.Name))
	if b.at["finetuning"] == nil {
		c.note("finetuning", nil, Changed, "", "the file has no such section: it describes an evaluation, for rollmill eval")
		for _, section := range []string{"trajectory_builders", "trainer_adapters", "trainers"} {
			if n := b.at[section]; n != nil {
				c.note(section, n, Ignored, "", "without a section finetuning, nothing names its entries")
			}
		}
		return c.eval(b.at["eval"], "")
	}
	return c.finetuning(b)
}

// stays notes the sections that the workflow's server reads.
func (c *converter) stays(b block) {
	var names []string
	for _, f := range stays {
		if b.at[f.name] != nil {
			names = append(names, f.name)
		}
	}
	if names != nil {
		c.note(strings.Join(names, ", "), b.at[names[0]], Stays, "",
			"part of the workflow, which `nat serve` reads from NAT's file")
	}
}

// finetuning converts the section finetuning and the components that it names.
func (c *converter) finetuning(b block) error {
	f, err := c.read("finetuning", b.at["finetuning"], finetuningFields)
	if err != nil {
		return err
	}
	if !f.on("enabled", false) {
		c.note("finetuning.enabled", f.at["enabled"], Changed, "",
			"NAT refuses to train with this file; rollmill has no such switch")
	}
	if err := c.targetModel(b, f); err != nil {
		return err
	}
	reward := f.in["reward_function"].text("name", "")
	builder, err := c.builder(b, f)
	if err != nil {
		return err
	}
	if builder == dpoBuilder {
		if reward != "" {
			c.note("finetuning.reward_function", f.at["reward_function"], Ignored, "",
				"the builder of pairs compares the scores of candidates")
		}
		c.candidates(f)
	} else {
		if reward == "" {
			c.note("finetuning.reward_function", f.at["reward_function"], Changed, "score.reward",
				"missing; NAT's builder fails without it")
		}
		c.put("validation.generations", written("1")) // NAT validates with one run of each example
	}
	c.note("finetuning.target_functions", f.at["target_functions"], Changed, "rollout.target-function",
		"functions of NAT's server; with another agent, remove this setting, or name the functions in the URLs that the "+
			"agent calls")
	if err := c.eval(b.at["eval"], reward); err != nil {
		return err
	}
	if err := c.curriculum(f, builder); err != nil {
		return err
	}
	adapter, err := c.adapter(b, f)
	if err != nil {
		return err
	}
	return c.trainer(b, f, adapter)
}

// component reads the component of a section that finetuning names, and returns
// its type. Fields of a type that is not in models are the user's own.
func (c *converter) component(b, f block, section, reference string, models map[string][]field) (block, string, error) {
	entries, err := c.Pairs(b.at[section])
	if err != nil {
		return block{}, "", err
	}
	at := f.at[reference]
	var names []string
	for _, p := range entries {
		if names = append(names, p.Key.Value); at == nil || p.Key.Value != at.Value {
			c.note(join(section, p.Key.Value), p.Key, Ignored, "", "finetuning does not name it")
		}
	}
	if at == nil {
		c.note("finetuning."+reference, nil, Changed, "", "missing; NAT requires it")
		return block{}, "", nil
	}
	i := slices.Index(names, at.Value)
	switch {
	case i >= 0:
	case names == nil:
		c.note("finetuning."+reference, at, Changed, "",
			fmt.Sprintf("there is no section %s, so NAT fails; this part is not converted", section))
		return block{}, "", nil
	default:
		return block{}, "", c.Refuse(at, plugin.Nearest(at.Value, names, section+" has "+plain(strings.Join(names, ", "))),
			"finetuning.%s: there is no %q in %s", reference, plain(at.Value), section)
	}
	path, chosen := join(section, at.Value), entries[i].Value
	if err := c.check(path, chosen, mapping); err != nil {
		return block{}, "", err
	}
	kind, err := c.typeOf(chosen)
	if err != nil {
		return block{}, "", err
	}
	if fields, ok := models[kind]; ok {
		out, err := c.read(path, chosen, fields)
		return out, kind, err
	}
	out, err := c.own(path, chosen)
	return out, kind, err
}

// own reads a component of a type that only the user has.
func (c *converter) own(path string, n *yaml.Node) (block, error) {
	b := block{path: path, at: map[string]*yaml.Node{}}
	pairs, err := c.Pairs(n)
	if err != nil {
		return b, err
	}
	for _, p := range pairs {
		switch b.at[p.Key.Value] = p.Value; p.Key.Value {
		case "_type", "type":
		case "num_generations":
			if err := c.field(join(path, p.Key.Value), p,
				field{name: p.Key.Value, shape: whole, to: "rollout.generations"}); err != nil {
				return b, err
			}
		default:
			c.note(join(path, p.Key.Value), p.Key, Dropped, "", "a field of a component of your own")
		}
	}
	return b, nil
}

// typeOf returns the _type of a component, or "".
func (c *converter) typeOf(n *yaml.Node) (string, error) {
	pairs, err := c.Pairs(n)
	if err != nil {
		return "", err
	}
	for _, p := range pairs {
		if slices.Contains([]string{"_type", "type"}, p.Key.Value) && p.Value.Kind == yaml.ScalarNode {
			return p.Value.Value, nil
		}
	}
	return "", nil
}

// curriculum converts the curriculum, which is off unless it is switched on.
func (c *converter) curriculum(f block, builder string) error {
	n := f.at["curriculum_learning"]
	if n == nil {
		return nil
	}
	path := "finetuning.curriculum_learning"
	scratch := &converter{File: c.File}
	b, err := scratch.read(path, n, curriculumFields)
	if err != nil {
		return err
	}
	switch {
	case builder == dpoBuilder:
		c.note(path, n, Ignored, "", "NAT's trainer for pairs has no curriculum")
	case !b.on("enabled", false):
		c.note(path, n, Ignored, "", "it is not enabled")
	default:
		c.out, c.notes = append(c.out, scratch.out...), append(c.notes, scratch.notes...)
	}
	return nil
}
