package customizer

import (
	"strings"

	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

var Kind = backends.Kind{
	Name: "customizer", Help: "NVIDIA NeMo Customizer (NeMo Microservices 25.x): DPO and SFT, and a NIM for the outcome",
	New: func() backends.TrainerSettings { return defaults() },
}

func defaults() *Config { return new(Config{Choice: trainset.Choice{Best: 1}}.withDefaults()) }

// Declare declares the settings. Those that change the model which a job makes,
// and its name, are part of the identity, except those that name the trainer. A
// receipt's model is CONFIGURATION:TRAINING:FINETUNING.
func (c *Config) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.String(&c.EntityURL, "entity-url", "use the gateway to the Entity Store, Customizer and deployments at this `URL`").
		FromReceipt(plugin.Address)
	d.String(&c.DatastoreURL, "datastore-url", "upload to the Data Store at this `URL`")
	d.String(&c.NIMURL, "nim-url", "sample the trained model from the NIM proxy at this `URL`").DefaultShown("none")
	backends.DeclareKeyFile(d, &c.APIKey, "NEMO_API_KEY")
	d.SecretVariable(&c.DatastoreToken, "NEMO_DATASTORE_TOKEN")
	d.SecretVariable(&c.NIMKey, "ROLLMILL_API_KEY")
	d.SecretVariable(&c.WandBKey, "WANDB_API_KEY")
	d.String(&c.Namespace, "namespace", "use the namespace `NAME` in both stores, created if missing")
	d.String(&c.Project, "project", "create the job in this `PROJECT`").WrittenToRows()
	d.String(&c.Config, "customization-config",
		"train by this `CONFIGURATION`, such as meta/llama-3.2-1b-instruct@v1.0.0+A100").
		FromReceipt(plugin.InModel(`^([^:]*):[^:]*:[^:]*$`))
	plugin.Choice(d, &c.TrainingType, "training-type", "train by this `TYPE`: "+strings.Join(TrainingTypes, ", "),
		TrainingTypes...).FromReceipt(plugin.InModel(`^[^:]*:([^:]*):[^:]*$`))
	plugin.Choice(d, &c.FinetuningType, "finetuning-type", "train these `WEIGHTS`: "+strings.Join(FinetuningTypes, ", "),
		FinetuningTypes...).FromReceipt(plugin.InModel(`^[^:]*:[^:]*:([^:]*)$`))
	d.Objects(&c.Hyperparameters, "hyperparameters",
		"set `KEY=VALUE`: epochs, learning_rate, dpo.ref_policy_kl_penalty, lora.adapter_dim, ...").ID("hyperparameters")
	d.String(&c.OutputModel, "output-model", "name the new model `NAMESPACE/NAME[@VERSION]`").ID("output-model").
		DefaultShown("after the dataset, each submission its own version").WrittenToRows()
	d.String(&c.Dataset, "dataset-name", "begin the dataset's name with `NAME`; it ends in the content's digest")
	d.Objects(&c.DatasetParameters, "dataset-parameters", "set `KEY=VALUE` of the job's dataset_parameters").
		ID("dataset-parameters")
	d.JSONObjects(&c.Integrations, "integrations",
		"add an integration to the job, as a `JSON` object; the key of WandB comes from WANDB_API_KEY")
	backends.DeclareHeldOut(d, &c.Validation, &c.SplitSeed).Always = true
	backends.DeclareBest(d, &c.Choice)
	d.String(&c.Deployment.Image, "deployment-image", "deploy the trained model with this NIM `IMAGE:TAG`").
		DefaultShown("no deployment")
	d.Int(&c.Deployment.GPUs, "deployment-gpus", "give the deployment `N` GPUs")
	d.String(&c.Deployment.Name, "deployment-name", "begin the deployment's name with `NAME`")
	d.KeyValues(&c.Deployment.Env, "deployment-env", "set `NAME=VALUE` in the deployment's environment")
	d.String(&c.Deployment.PVC, "deployment-pvc", "give the deployment a volume of `SIZE`")
}

func (c *Config) Trainer(backends.Setup) (backends.Trainer, error) {
	return backends.Made(New(*c))
}

// Describe is part of backends.Trainer. The service keeps the batch, and each job makes a model
// of its own; DPO's rows are made of pairs.
func (t *Trainer) Describe() backends.Description {
	d := backends.Description{Effect: backends.MakesModel, Use: t.Use, WriteRows: t.WriteRows, Status: t.Status, Cancel: t.Cancel}
	if t.cfg.TrainingType == DPO {
		d.Compares = []string{schema.TablePairs}
	}
	return d
}

// Identity returns the settings that change the model that a job makes, and its name.
func (t *Trainer) Identity() backends.Identity { return backends.IdentityOf(&t.cfg, defaults()) }
