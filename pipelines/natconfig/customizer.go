package natconfig

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// customizer converts the adapter of NeMo Customizer.
func (c *converter) customizer(a block) error {
	c.put("submit.backend", text("customizer"))
	for _, name := range []string{"entity_host", "datastore_host", "namespace", "customization_config"} {
		if a.at[name] == nil {
			c.note(join(a.path, name), nil, Changed, "submit.backend", "missing; NAT requires it")
		}
	}
	if !a.on("use_full_message_history", false) {
		c.note(join(a.path, "use_full_message_history"), a.at["use_full_message_history"], Changed, "submit.backend",
			"off, so that NAT's prompt is the text of the last message alone; rollmill always sends the whole conversation")
	}
	poll := a.text("poll_interval_seconds", "30")
	if seconds, err := strconv.ParseFloat(poll, 64); err == nil {
		poll = strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
	} else {
		c.note(join(a.path, "poll_interval_seconds"), a.at["poll_interval_seconds"], Changed, "submit.poll-interval",
			"the variable needs a unit here: 30s")
	}
	c.put("submit.poll-interval", text(poll))
	if err := c.hyperparameters(join(a.path, "hyperparameters"), a.at["hyperparameters"]); err != nil {
		return err
	}
	c.put("submit.validation-share", written("0.2"))
	c.note(join(a.path, "validation"), nil, Changed, "submit.validation-share",
		"NAT takes the last fifth of the pairs, in order, so that an example can be on both sides; here whole examples are "+
			"drawn by submit.split-seed")
	return c.deployment(a)
}

// hyperparameters converts those of the job. NAT sends all of them, with its own
// defaults.
func (c *converter) hyperparameters(path string, n *yaml.Node) error {
	b, err := c.read(path, n, hyperparameters)
	if err != nil {
		return err
	}
	out := &yaml.Node{Kind: yaml.MappingNode}
	take := func(b block, name, key, def string) {
		value := written(def)
		if n := b.at[name]; n != nil {
			value = &yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
			if isReference(n.Value) {
				value = text(n.Value)
			}
		}
		out.Content = append(out.Content, text(key), value)
	}
	take(b, "epochs", "epochs", "3")
	take(b, "batch_size", "batch_size", "4")
	take(b, "learning_rate", "learning_rate", "5e-05")
	d, err := c.read(join(path, "dpo"), b.at["dpo"], dpoHyperparameters)
	if err != nil {
		return err
	}
	if kind := b.text("training_type", "dpo"); kind == "dpo" || isReference(kind) {
		take(d, "ref_policy_kl_penalty", "dpo.ref_policy_kl_penalty", "0.1")
		take(d, "preference_loss_weight", "dpo.preference_loss_weight", "1.0")
		take(d, "preference_average_log_probs", "dpo.preference_average_log_probs", "false")
		take(d, "sft_loss_weight", "dpo.sft_loss_weight", "0.0")
	} else if kind == "sft" {
		c.note(join(path, "training_type"), b.at["training_type"], Changed, "submit.training-type",
			"NAT sends pairs to such a job; rollmill sends the best conversations of each group")
		if n := b.at["dpo"]; n != nil {
			c.note(join(path, "dpo"), n, Dropped, "", "hyperparameters of DPO, which a job of type sft does not have")
		}
	}
	c.put("submit.hyperparameters", out)
	return nil
}

// deployment converts the deployment of the trained model.
func (c *converter) deployment(a block) error {
	path := join(a.path, "deployment_config")
	b, err := c.read(path, a.at["deployment_config"], deploymentFields)
	if err != nil {
		return err
	}
	if !a.on("deploy_on_completion", false) {
		if b.at["image_name"] != nil {
			c.note(path, a.at["deployment_config"], Ignored, "", "deploy_on_completion is not set")
		}
		return nil
	}
	c.put("submit.deployment-image",
		text(b.text("image_name", "nvcr.io/nim/meta/llama-3.1-8b-instruct")+":"+b.text("image_tag", "latest")))
	c.put("submit.deployment-gpus", written(b.text("gpu", "1")))
	name := b.text("deployment_name", "")
	if name == "" {
		return nil
	}
	if allowed := strings.Trim(strings.ToLower(notDNS.Replace(name)), "-"); !isReference(name) && allowed != name {
		c.note(join(path, "deployment_name"), b.at["deployment_name"], Changed, "submit.deployment-name",
			"a name in Kubernetes has lower-case letters, digits and -")
		name = allowed
	}
	if name != "" {
		c.put("submit.deployment-name", text(name))
	}
	return nil
}

var notDNS = strings.NewReplacer("_", "-", ".", "-", " ", "-", "/", "-")
