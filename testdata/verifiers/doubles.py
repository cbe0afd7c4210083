"""An environment of verifiers.v1: the model has a tool, served over MCP."""

import verifiers.v1 as vf


class Tools(vf.Toolset[vf.ToolsetConfig]):
    TOOL_PREFIX = "calc"

    @vf.tool
    def double(self, n: int) -> str:
        """Twice a number."""
        return str(2 * n)


class Config(vf.TaskConfig):
    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class Data(vf.TaskData):
    answer: str


class Doubling(vf.Task[Data, vf.State, Config]):
    @classmethod
    def toolsets(cls, config: Config) -> list[vf.Toolset]:
        return [Tools(config.tools)]

    @vf.reward(weight=2.0)
    async def used(self, trace: vf.Trace) -> float:
        return float(any(m.role == "tool" and self.data.answer in str(m.content) for b in trace.branches for m in b.messages))

    @vf.reward
    async def said(self, trace: vf.Trace) -> float:
        return float(self.data.answer in (trace.last_reply or ""))

    @vf.metric
    async def reply_length(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply or ""))


class TasksConfig(vf.TasksetConfig):
    task: Config = Config()
    count: int = 2


class Tasks(vf.Taskset[Doubling, TasksConfig]):
    def load(self):
        for n in range(4, 4 + self.config.count):
            yield Doubling(Data(id=f"double-{n}", prompt=f"Double {n} with the tool.", answer=str(2 * n)), self.config.task)


__all__ = ["Tasks"]
if __name__ == "__main__":
    Tools.run()
