package natconfig

import (
	"net"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/yamldoc"
)

// builder converts the trajectory builder, and returns its type.
func (c *converter) builder(b, f block) (string, error) {
	t, kind, err := c.component(b, f, "trajectory_builders", "trajectory_builder", builders)
	if err != nil {
		return "", err
	}
	switch kind {
	case artBuilder:
		c.alone(t)
	case dpoBuilder:
		c.pairing(t)
	default:
		if t.path == "" {
			break
		}
		c.note(join(t.path, "_type"), t.at["_type"], Changed, "rollout.agent",
			"a builder of your own: rollout, score and group do its work; write what it does besides as an agent or a reward")
	}
	return kind, nil
}

// alone notes what one generation means.
func (c *converter) alone(b block) {
	if n := b.at["num_generations"]; n != nil && n.Value == "1" {
		c.note(join(b.path, "num_generations"), n, Changed, "rollout.generations",
			"with 1, NAT folds all examples into one group, so that answers to different prompts are compared; "+
				"here a group is one example, and a group of one has no advantage: set at least 2")
	}
}

// pairing converts the builder of preference pairs.
func (c *converter) pairing(b block) {
	mode := "best-worst"
	if b.on("exhaustive_pairs", true) {
		mode = "exhaustive"
	}
	c.put("group.pairs", text(mode))
	c.put("group.pairs-from", text("candidates"))
	if margin, err := strconv.ParseFloat(b.text("min_score_diff", "0"), 64); err == nil && margin == 0 {
		c.note(join(b.path, "min_score_diff"), b.at["min_score_diff"], Changed, "group.pair-margin",
			"with 0, NAT pairs equal scores too; here they are no preference (group.pair-ties pairs them)")
	}
}

// candidates sets what a run needs whose pairs come from the scores of
// candidates: a reward that says nothing, and rules that keep such groups.
func (c *converter) candidates(f block) {
	c.put("score.reward", list(text("finished=expr:1")))
	c.put("curate.min-valid", written("1"))
	c.put("curate.keep-flat", written("true"))
	c.note("trajectory_builders", f.at["trajectory_builder"], Changed, "score.reward",
		"the workflow scores the candidates of a turn itself, and group pairs them by those scores; the reward of the "+
			"whole trajectory has no effect, so all groups are kept")
}

// adapter converts the trainer adapter into section submit, and returns its type.
func (c *converter) adapter(b, f block) (string, error) {
	a, kind, err := c.component(b, f, "trainer_adapters", "trainer_adapter", adapters)
	if err != nil {
		return "", err
	}
	switch kind {
	case artAdapter:
		c.put("group.compat", text("art"))
		return kind, c.art(a)
	case customizerAdapter:
		return kind, c.customizer(a)
	}
	if a.path != "" {
		c.put("submit.backend", text("command"))
		c.put("submit.trainer", text("python3 trainer.py"))
		c.note(a.path, a.at["_type"], Changed, "submit.trainer",
			"an adapter of your own: write it as a program that reads the dataset and answers with lines of JSON (rollmill "+
				"help backend command), or choose another backend")
	}
	return kind, nil
}

// trainer converts the trainer.
func (c *converter) trainer(b, f block, adapter string) error {
	t, kind, err := c.component(b, f, "trainers", "trainer", trainers)
	if err != nil {
		return err
	}
	switch kind {
	case artTrainer:
	case customizerTrainer:
		if t.on("deduplicate_pairs", true) {
			c.put("group.pair-once", written("true"))
			c.note(join(t.path, "deduplicate_pairs"), t.at["deduplicate_pairs"], Changed, "group.pair-once",
				"within a group; NAT compares the pairs of all examples")
		}
		if n := f.at["num_epochs"]; n != nil {
			c.note("finetuning.num_epochs", n, Ignored, "train.epochs",
				"NAT's trainer for Customizer makes num_runs collections and one job, whatever this says")
		}
		c.put("train.epochs", written("1"))
	default:
		if t.path == "" {
			break
		}
		c.note(join(t.path, "_type"), t.at["_type"], Changed, "train.epochs",
			"a trainer of your own: `rollmill train` is the loop, and the five commands are its steps")
	}
	if adapter == artAdapter {
		c.put("submit.wait", written("true"))
	}
	return nil
}

// art converts the adapter of an ART server.
func (c *converter) art(a block) error {
	b, err := c.read(join(a.path, "backend"), a.at["backend"], artBackend)
	if err != nil {
		return err
	}
	c.put("submit.backend", text("art"))
	ip, port := b.text("ip", "127.0.0.1"), b.text("port", "7999")
	for _, name := range []string{"ip", "port"} {
		if b.at[name] == nil {
			c.note(join(b.path, name), nil, Changed, "submit.url", "missing; NAT requires it")
		} else {
			c.checkReference(join(b.path, name), b.at[name], "submit.url")
		}
	}
	if ip == "0.0.0.0" {
		ip = "127.0.0.1"
		c.note(join(b.path, "ip"), b.at["ip"], Changed, "submit.url", "0.0.0.0 is an address to listen on, not one to call")
	}
	host := ip + ":" + port
	if strings.Contains(ip, ":") && !isReference(ip) {
		host = net.JoinHostPort(ip, port)
	}
	c.put("submit.url", text("http://"+host))
	c.note(join(b.path, "port"), b.at["port"], Changed, "submit.url",
		"NAT's health check asks port 8000 of this host, whatever the port of the engine is; rollmill asks this server "+
			"for its engine")
	if key := b.text("api_key", "default"); key != "default" {
		c.note(join(b.path, "api_key"), b.at["api_key"], Changed, "",
			"a key is not copied: put it into the environment variable ROLLMILL_API_KEY")
	}
	return c.training(join(a.path, "training"), a.at["training"])
}

// training converts the arguments of training. NAT hands them to getattr, which
// does not look into a mapping, and so trains with its defaults.
func (c *converter) training(path string, n *yaml.Node) error {
	pairs, err := c.Pairs(n)
	if err != nil {
		return err
	}
	args := &yaml.Node{Kind: yaml.MappingNode}
	c.put("submit.learning-rate", written("5e-05"))
	for _, p := range pairs {
		if yamldoc.Null(p.Value) {
			continue
		}
		f := field{name: p.Key.Value, shape: number, kind: Ignored}
		switch f.name {
		case "learning_rate":
			f.to, f.note = "submit.learning-rate", "NAT reads it with getattr from a mapping, which never finds it, and "+
				"trains with 5e-05; to repeat a run of NAT, write 5e-05"
		case "beta":
			f.to, f.note = "submit.beta", "NAT reads it with getattr from a mapping, which never finds it, and sends 0; "+
				"ART 0.5.12 and later has kl-penalty-coef in its place"
		default:
			value, err := c.copy(p.Value)
			if err != nil {
				return err
			}
			args.Content = append(args.Content, text(f.name), value)
			continue
		}
		if err := c.field(join(path, f.name), p, f); err != nil {
			return err
		}
	}
	if args.Content != nil {
		c.put("submit.trainer-args", args)
	}
	return nil
}
