// An agent service: each POST is an attempt.
import http from "node:http";

const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const task = JSON.parse(body);
  const asked = await fetch(task.base_url + "/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer " + task.api_key },
    body: JSON.stringify({ model: task.model, messages: [{ role: "user", content: task.question }] }),
  });
  response.end(JSON.stringify(asked.ok ? {} : { error: await asked.text() }));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
