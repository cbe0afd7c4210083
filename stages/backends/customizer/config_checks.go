package customizer

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/backends/hfhub"
)

func (c Config) withDefaults() Config {
	for _, u := range []*string{&c.EntityURL, &c.DatastoreURL, &c.NIMURL} {
		*u = strings.TrimRight(*u, "/")
	}
	c.NIMURL = strings.TrimSuffix(c.NIMURL, "/v1")
	c.Namespace = cmp.Or(c.Namespace, "default")
	c.Dataset = cmp.Or(c.Dataset, "rollmill")
	c.TrainingType = cmp.Or(c.TrainingType, DPO)
	c.FinetuningType = cmp.Or(c.FinetuningType, "all_weights")
	c.Validation = cmp.Or(c.Validation, 0.2)
	c.Deployment.Name = cmp.Or(c.Deployment.Name, "rollmill")
	c.Deployment.GPUs = cmp.Or(c.Deployment.GPUs, 1)
	c.Settle = cmp.Or(c.Settle, 10*time.Second)
	return c
}

var (
	kubernetes = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	model      = regexp.MustCompile(`^[^/@\s]+/[^/@\s]+(@[^/@\s]+)?$`)
	address    = regexp.MustCompile(`^https?://[^/\s]+`)
)

func (c Config) validate() error {
	// addresses are written into receipts
	leaked := cmp.Or(secret.InURL(c.EntityURL), secret.InURL(c.DatastoreURL), secret.InURL(c.NIMURL))
	image, tag, tagged := strings.Cut(c.Deployment.Image[strings.LastIndex(c.Deployment.Image, "/")+1:], ":")
	switch {
	case !address.MatchString(c.EntityURL):
		return bad("name it: --entity-url http://nemo.test", "address of the Entity Store %q", c.EntityURL)
	case c.DatastoreURL != "" && !address.MatchString(c.DatastoreURL):
		return bad("write http://HOST", "address of the Data Store %q", c.DatastoreURL)
	case c.NIMURL != "" && !address.MatchString(c.NIMURL):
		return bad("write http://HOST", "address of the NIM %q", c.NIMURL)
	case leaked != nil:
		return bad("put the keys into NEMO_API_KEY, NEMO_DATASTORE_TOKEN and ROLLMILL_API_KEY", "%v", leaked)
	case c.Config == "":
		return bad("name it: --customization-config meta/llama-3.2-1b-instruct@v1.0.0+A100", "no customization configuration")
	case !slices.Contains(TrainingTypes, c.TrainingType):
		return bad("", "unknown training type %q (known: %s)", c.TrainingType, strings.Join(TrainingTypes, ", "))
	case !slices.Contains(FinetuningTypes, c.FinetuningType):
		return bad("", "unknown finetuning type %q (known: %s)", c.FinetuningType, strings.Join(FinetuningTypes, ", "))
	case c.OutputModel != "" && !model.MatchString(c.OutputModel):
		return bad("write NAMESPACE/NAME or NAMESPACE/NAME@VERSION", "output model %q", c.OutputModel)
	case c.Validation <= 0 || c.Validation >= 1:
		return bad("the service validates while it trains", "validation share %g: must be over 0 and under 1", c.Validation)
	case !kubernetes.MatchString(c.Deployment.Name) || len(c.Deployment.Name) > 40:
		return bad("at most 40 lowercase letters, digits and -", "name of the deployment %q", c.Deployment.Name)
	case c.Deployment.Image != "" && (!tagged || image == "" || tag == ""):
		return bad("write NAME:TAG, the NIM of the model that is trained", "image of the deployment %q", c.Deployment.Image)
	case c.Deployment.GPUs < 1:
		return bad("", "%d GPUs for the deployment", c.Deployment.GPUs)
	}
	if err := hfhub.CheckID(c.Namespace + "/" + c.Dataset + "-0123456789abcdef"); err != nil {
		return err
	}
	_, err := c.hyperparameters()
	return err
}
