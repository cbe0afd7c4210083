package customizer

import (
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// How to train.
const (
	DPO = "dpo" // the batch's pairs; without any, a group's best answer against its worst
	SFT = "sft" // a group's best conversation, or its best ones
)

// TrainingTypes and FinetuningTypes are those that can be asked for.
var (
	TrainingTypes   = []string{DPO, SFT}
	FinetuningTypes = []string{"all_weights", "lora", "lora_merged"}
)

// Config says where and how to train. Hyperparameters that are not named are
// not sent: the service has its own defaults, which differ between releases.
type Config struct {
	// Entity Store, Customizer and deployments, behind one gateway
	EntityURL      string `yaml:"entity_url" json:"entity_url"`
	DatastoreURL   string `yaml:"datastore_url" json:"datastore_url"` // not needed to follow a job
	NIMURL         string `yaml:"nim_url" json:"nim_url"`             // serves the trained model; "" when it is not used
	APIKey         string `yaml:"-" json:"-"`                         // of a gateway that requires one
	NIMKey         string `yaml:"-" json:"-"`
	DatastoreToken string `yaml:"-" json:"-"`
	WandBKey       string `yaml:"-" json:"-"`

	Namespace string `yaml:"namespace" json:"namespace"` // default "default"; made in both stores unless it is there
	// begins the dataset's name, which ends in its content's digest; default "rollmill"
	Dataset string `yaml:"dataset" json:"dataset"`
	Project string `yaml:"project" json:"project"` //
	// the customization configuration, such as meta/llama-3.2-1b-instruct@v1.0.0+A100
	Config string `yaml:"config" json:"config"`
	// NAMESPACE/NAME[@VERSION]; without a version each submission gets its own
	OutputModel string `yaml:"output_model" json:"output_model"`

	TrainingType string `yaml:"training_type" json:"training_type"` // default dpo
	// of SFT: conversations of a group; default 1, below 0 all
	trainset.Choice `yaml:",inline"`
	FinetuningType  string `yaml:"finetuning_type" json:"finetuning_type"` // default all_weights
	// dpo.ref_policy_kl_penalty is that key of the block dpo
	Hyperparameters   map[string]any   `yaml:"hyperparameters" json:"hyperparameters"`
	DatasetParameters map[string]any   `yaml:"dataset_parameters" json:"dataset_parameters"` //
	Integrations      []map[string]any `yaml:"integrations" json:"integrations"`

	Validation float64 `yaml:"validation" json:"validation"` // share of the examples that is held out; default 0.2
	SplitSeed  int64   `yaml:"split_seed" json:"split_seed"`

	Deployment Deployment `yaml:"deployment" json:"deployment"`

	Settle time.Duration `yaml:"settle" json:"settle"` // until a new job is certainly listed; default 10s
}

// Deployment is a NIM that is started for the trained model. Without an image
// none is started; LoRA's result is served by the base model's NIM.
type Deployment struct {
	Name  string            `yaml:"name" json:"name"`   // begins its name; default "rollmill"
	Image string            `yaml:"image" json:"image"` // NAME:TAG
	GPUs  int               `yaml:"gpus" json:"gpus"`   // default 1
	Env   map[string]string `yaml:"env" json:"env"`
	PVC   string            `yaml:"pvc_size" json:"pvc_size"`
}

func bad(hint, format string, args ...any) error {
	return &remote.Error{What: "customizer: " + fmt.Sprintf(format, args...), Help: hint, Usage: true}
}
