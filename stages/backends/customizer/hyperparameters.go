package customizer

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

// kind is the type and range of a hyperparameter's value.
type kind struct {
	what     string
	min, max float64
	whole    bool
	other    func(any) bool // for what is no number
}

var (
	count     = kind{what: "a whole number of 1 or more", min: 1, max: math.MaxInt32, whole: true}
	none      = kind{what: "a whole number of 0 or more", min: 0, max: math.MaxInt32, whole: true}
	unlimited = kind{what: "a whole number, -1 for no limit", min: -1, max: math.MaxInt32, whole: true}
	positive  = kind{what: "a number over 0", min: math.SmallestNonzeroFloat64, max: math.MaxFloat64}
	weight    = kind{what: "a number of 0 or more", min: 0, max: math.MaxFloat64}
	share     = kind{what: "a number from 0 to 1", min: 0, max: 1}
	flag      = kind{what: "true or false", min: 1, other: func(v any) bool { _, ok := v.(bool); return ok }}
	words     = kind{what: "a word", min: 1, other: func(v any) bool { s, ok := v.(string); return ok && s != "" }}
	list      = kind{what: "a list of words", min: 1, other: func(v any) bool {
		l, ok := v.([]any)
		return ok && len(l) > 0 && !slices.ContainsFunc(l, func(v any) bool { return !words.other(v) })
	}}
)

// known are the hyperparameters of a job; those of a block are sent in it.
var known = map[string]kind{
	"epochs": count, "batch_size": count, "learning_rate": positive, "max_steps": unlimited, "warmup_steps": none,
	"seed":              none,
	"log_every_n_steps": count, "val_check_interval": positive, "optimizer": words, "adam_beta1": share, "adam_beta2": share,
	"weight_decay": weight, "sequence_packing_enabled": flag,

	"lora.adapter_dim": count, "lora.adapter_dropout": share, "lora.alpha": positive, "lora.target_modules": list,

	"sft.hidden_dropout": share, "sft.attention_dropout": share, "sft.ffn_dropout": share,

	"dpo.ref_policy_kl_penalty": weight, "dpo.preference_loss_weight": weight, "dpo.preference_average_log_probs": flag,
	"dpo.sft_loss_weight": weight, "dpo.sft_average_log_probs": flag, "dpo.max_grad_norm": positive,
}

func (k kind) takes(v any) bool {
	if k.other != nil {
		return k.other(v)
	}
	n, ok := backends.Number(v)
	return ok && n >= k.min && n <= k.max && (!k.whole || n == math.Trunc(n))
}

// hyperparameters returns the job's section: the named ones, and the two types.
func (c Config) hyperparameters() (map[string]any, error) {
	out := map[string]any{"training_type": c.TrainingType, "finetuning_type": c.FinetuningType}
	flat := map[string]any{}
	for name, v := range c.Hyperparameters {
		block, nested := v.(map[string]any)
		for key, inner := range block {
			flat[name+"."+key] = inner
		}
		if !nested {
			flat[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(flat)) {
		v := flat[name]
		block, _, _ := strings.Cut(name, ".")
		k, ok := known[name]
		switch {
		case !ok:
			return nil, bad("known: "+strings.Join(slices.Sorted(maps.Keys(known)), ", "), "no hyperparameter %q", name)
		case (block == DPO || block == SFT) && block != c.TrainingType:
			return nil, bad("", "%s has no hyperparameter %q", c.TrainingType, name)
		case block == "lora" && !strings.HasPrefix(c.FinetuningType, "lora"):
			return nil, bad("--finetuning-type lora", "%s has no hyperparameter %q", c.FinetuningType, name)
		case v == nil: // as if it were not named
		case !k.takes(v):
			return nil, bad("", "%s %v: must be %s", name, v, k.what)
		default:
			plugin.Put(out, name, v)
		}
	}
	return out, nil
}

// whole returns a hyperparameter that is a whole number, or 0.
func (c Config) whole(name string) int64 {
	n, _ := backends.Number(c.Hyperparameters[name])
	return int64(n)
}
