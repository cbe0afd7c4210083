package natconfig

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// eval converts the section eval: where the examples are, and how they are
// scored. reward is the evaluator that gives the reward; "" for all of them, or
// for none if a reward is already there.
func (c *converter) eval(n *yaml.Node, reward string) error {
	b, err := c.read("eval", n, evalFields)
	if err != nil {
		return err
	}
	g, err := c.read("eval.general", b.at["general"], generalFields)
	if err != nil {
		return err
	}
	if err := c.dataset(g.at["dataset"]); err != nil {
		return err
	}
	return c.evaluators(b.at["evaluators"], reward)
}

// formats are the types of datasets of NAT that rollmill reads, by the same names.
var formats = []string{"json", "jsonl", "csv", "parquet"}

// dataset converts the task file.
func (c *converter) dataset(n *yaml.Node) error {
	const at = "eval.general.dataset"
	b, err := c.read(at, n, datasetFields)
	if err != nil {
		return err
	}
	if n == nil {
		c.note(at, nil, Changed, "rollout.examples", "missing; name the file that `nat finetune --dataset` named")
		return nil
	}
	kind := b.text("_type", "")
	switch known := slices.Contains(formats, kind); {
	case known && path.Ext(b.text("file_path", "")) != "."+kind:
		c.put("rollout.examples-format", text(kind))
	case !known && !isReference(kind):
		c.note(at+"._type", b.at["_type"], Dropped, "rollout.examples",
			fmt.Sprintf("rollmill reads no %q files: convert the file to json, jsonl, csv or parquet", kind))
	}
	if !b.in["structure"].on("disable", false) {
		c.put("rollout.require-question", written("true"))
	}
	lists := b.in["filter"]
	if err := c.filter(at+".filter.allowlist", lists.at["allowlist"], "rollout.allow"); err != nil {
		return err
	}
	return c.filter(at+".filter.denylist", lists.at["denylist"], "rollout.deny")
}

// filter converts the lists of values by column.
func (c *converter) filter(path string, n *yaml.Node, to string) error {
	b, err := c.read(path, n, []field{{name: "field", shape: mapping}})
	if err != nil || b.at["field"] == nil {
		return err
	}
	columns, err := c.Pairs(b.at["field"])
	if err != nil {
		return err
	}
	var out []*yaml.Node
	for _, p := range columns {
		wrong := func(n *yaml.Node) error {
			return c.Refuse(n, hints[words], "%s.field.%s must be a list of values, not %s", path, plain(p.Key.Value), found(n))
		}
		if p.Value.Kind != yaml.SequenceNode {
			return wrong(p.Value)
		}
		for _, v := range p.Value.Content {
			if v.Kind != yaml.ScalarNode {
				return wrong(v)
			}
			out = append(out, text(p.Key.Value+"="+v.Value))
		}
	}
	if out != nil {
		c.put(to, list(out...))
	}
	return nil
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// rewardName returns an evaluator's name as the name of a reward.
func rewardName(evaluator string) string {
	name := notName.ReplaceAllString(evaluator, "_")
	if name == "" || strings.Contains("0123456789-", name[:1]) {
		name = "_" + name
	}
	return name
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// program returns the reward that asks NAT's server for the score of an
// evaluator, with the program that the guide on coming from NAT shows.
func program(evaluator string) *yaml.Node {
	argument := plain(evaluator)
	if !plainWord.MatchString(argument) {
		argument = "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	return text(rewardName(evaluator) + "=command:python3 nat_reward.py " + argument)
}

// evaluators converts the evaluators that are rewards into programs.
func (c *converter) evaluators(n *yaml.Node, reward string) error {
	if c.has("score.reward") {
		if n != nil {
			c.note("eval.evaluators", n, Dropped, "",
				"the pairs come from the scores of the candidates; NAT runs the evaluators and trains on none of them")
		}
		return nil
	}
	entries, err := c.Pairs(n)
	if err != nil {
		return err
	}
	var rewards []*yaml.Node
	var names []string
	for _, p := range entries {
		where := join("eval.evaluators", p.Key.Value)
		if err := c.check(where, p.Value, mapping); err != nil {
			return err
		}
		if reward != "" && p.Key.Value != reward {
			c.note(where, p.Key, Dropped, "score.reward",
				"not the reward: add it with the weight 0 to record it, as NAME*0=KIND:ARGUMENTS")
			continue
		}
		name := rewardName(p.Key.Value)
		if slices.Contains(names, name) {
			c.note(where, p.Key, Dropped, "score.reward", "another reward has the name "+name)
			continue
		}
		kind, err := c.typeOf(p.Value)
		if err != nil {
			return err
		}
		names = append(names, name)
		rewards = append(rewards, program(p.Key.Value))
		c.note(where, p.Key, Changed, "score.reward",
			fmt.Sprintf("NAT runs this evaluator (_type %s) in its own process, and a failure counts as reward 0; "+
				"here a failure is no reward. nat_reward.py, in `rollmill help coming-from-nat`, asks NAT's server for the "+
				"score; or write another kind of reward", plain(kind)))
	}
	switch {
	case rewards == nil && reward != "":
		rewards = []*yaml.Node{program(reward)}
		c.note("finetuning.reward_function.name", nil, Changed, "score.reward",
			"no evaluator of this name is in eval.evaluators; NAT then collects no trajectories")
	case rewards == nil:
		rewards = []*yaml.Node{program("reward")}
		c.note("eval.evaluators", n, Changed, "score.reward", "none; write a reward")
	}
	c.put("score.reward", list(rewards...))
	return nil
}

func (c *converter) has(key string) bool {
	return slices.ContainsFunc(c.out, func(s setting) bool { return s.key == key })
}
