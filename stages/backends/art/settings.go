package art

import "github.com/rollmill/rollmill/formats"

// InPlace reports that ART advances the policy that it serves.
func (t *Trainer) InPlace() bool { return true }

// Settings are what changes the outcome of a batch. How the model is served
// and which checkpoints are kept does not.
func (t *Trainer) Settings() formats.Settings {
	c, s := t.cfg, formats.Settings{}
	s.Add("base-model", c.BaseModel)
	s.Add("learning-rate", c.Training.LearningRate)
	s.Add("beta", c.Training.Beta)
	s.Add("kl-penalty-coef", c.Training.KLPenalty)
	s.Add("init-args.max_seq_length", c.InitArgs.MaxSeqLength)
	formats.AddAll(s, "init-args", c.InitArgs.More)
	formats.AddAll(s, "peft-args", c.PeftArgs)
	formats.AddAll(s, "trainer-args", c.TrainArgs)
	formats.AddAll(s, "internal-config", c.Internal)
	formats.AddAll(s, "dev-config", c.DevConfig)
	s.Add("accept-plain-assistant", c.AcceptPlainAssistant)
	return s
}
