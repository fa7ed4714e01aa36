"""Tools as a model is offered them."""


def tool(name, **kinds):
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    parameters = {"type": "object", "properties": properties}
    return {
        "type": "function",
        "function": {"name": name, "description": name, "parameters": parameters},
    }
