package customizertest

import (
	"fmt"
	"net/http"
	"strings"
)

func (s *Server) listConfigs(w http.ResponseWriter, r *http.Request) {
	var all []map[string]any
	for n := range 12 { // the one that is meant is not on the first page of 10
		all = append(all, map[string]any{"name": fmt.Sprintf("other-%d@v1.0.0+A100", n), "namespace": "meta",
			"target": fmt.Sprintf("meta/other-%d@1.0", n), "training_options": []any{}, "max_seq_length": nil})
	}
	var options []any
	for _, training := range []string{"sft", "dpo"} {
		for _, finetuning := range []string{"lora", "lora_merged", "all_weights"} {
			options = append(options,
				map[string]any{"training_type": training, "finetuning_type": finetuning, "num_gpus": 2, "num_nodes": 1,
					"micro_batch_size": 1, "data_parallel_size": 2})
		}
	}
	name := strings.TrimPrefix(Config, "meta/")
	all = append(all,
		map[string]any{"name": name, "namespace": "meta", "target": Model + "@2.0", "training_options": options,
			"max_seq_length": 4096},
		map[string]any{"name": "cfg-8b", "namespace": "acme",
			"target":           map[string]any{"name": "llama-3.1-8b-instruct@2.0", "namespace": "meta"},
			"training_options": options[:1], "max_seq_length": 6})
	page(s, w, r, all)
}
