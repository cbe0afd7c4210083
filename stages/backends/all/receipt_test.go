package all

import (
	"context"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

// TestAReceiptNamesItsTrainer: settings that take over from a receipt, and those
// that no receipt has, give the trainer that the receipt is of.
func TestAReceiptNamesItsTrainer(t *testing.T) {
	place := backends.Place{
		URI:   "mem://out",
		Begin: func(context.Context) (backends.Draft, error) { return nil, nil },
		Read:  func(context.Context, string) ([]byte, error) { return nil, nil },
	}
	type texts map[string][]string
	for _, c := range []struct {
		name, backend string
		given, always texts // always: what no receipt has
	}{
		{"art", "art", texts{"url": {"http://art.test:80"}, "project": {"p"}, "name": {"n"}}, nil},
		{"art by name", "art", texts{"target": {"the trainer"}, "project": {"p"}, "name": {"n"}}, nil},
		{"openai", "openai", texts{"fine-tuning-url": {"http://tune.test/v1"}, "base-model": {"ft:m:x"}, "method": {"dpo"}}, nil},
		{"customizer", "customizer",
			texts{"entity-url": {"http://nemo.test"}, "customization-config": {"meta/m@v1"}, "training-type": {"dpo"}, "finetuning-type": {"all_weights"}},
			texts{"datastore-url": {"http://store.test"}}},
		{"file", "file", texts{"kinds": {"trl-sft", "slime"}}, nil},
		{"file of several", "file", texts{"kinds": {"trl-sft", "art"}}, texts{"best": {"3"}}},
		{"command", "command", texts{"trainer": {"train"}, "name": {"n"}}, nil},
		{"command of the policy", "command", texts{"trainer": {"train --at 'a b'"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := Backends.Find(c.backend)
			if err != nil {
				t.Fatal(err)
			}
			made := func(s backends.TrainerSettings, all ...texts) backends.Trainer {
				t.Helper()
				for _, some := range all {
					for _, x := range plugin.Declared(s) {
						if text, ok := some[x.Name]; ok {
							if err := x.Set(text...); err != nil {
								t.Fatal(x.Name, err)
							}
						}
					}
				}
				tr, err := s.Trainer(backends.Setup{Place: place})
				if err != nil {
					t.Fatal(err)
				}
				return tr
			}
			was := made(k.New(), c.given, c.always).Target()
			s := k.New()
			plugin.Adopt(s, func(string) bool { return false }, was.Address, was.Model)
			if got := made(s, c.always).Target(); got != was {
				t.Errorf("%+v became %+v", was, got)
			}
			s = k.New()
			plugin.Adopt(s, func(string) bool { return true }, was.Address, was.Model)
			for i, x := range plugin.Declared(k.New()) {
				if now := plugin.Declared(s)[i]; !now.IsDefault() && x.IsDefault() {
					t.Errorf("%s was given and is replaced", x.Name)
				}
			}
		})
	}
}
