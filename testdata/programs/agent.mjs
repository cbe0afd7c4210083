// Asks the model about each task until its input ends. What it prints on stderr is kept as log.
import readline from "node:readline";

for await (const line of readline.createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  const response = await fetch(task.base_url + "/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer " + task.api_key },
    body: JSON.stringify({ model: task.model, messages: [{ role: "user", content: task.question }] }),
  });
  const result = response.ok ? { metadata: { node: process.version } } : { error: await response.text() };
  console.log(JSON.stringify({ trajectory_id: task.trajectory_id, ...result }));
}
