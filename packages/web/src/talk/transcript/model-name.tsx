import { useApp, useStore } from "../../app-context.ts";
import { modelTitle } from "../../models/group-models.ts";

/** The model of an answer, as the model menu names it. */
export function ModelName({ name }: { readonly name: string }) {
  const { models } = useApp();
  const known = useStore(models)?.models.find((model) => model.name === name);
  return (
    <span className="model-name" title={name}>
      {modelTitle(known ?? { name })}
    </span>
  );
}
