import type { ModelView } from "@holdfast/protocol";
import type { ModelList } from "./models-store.ts";

export interface ModelGroup {
  readonly title: string;
  readonly models: readonly ModelView[];
}

/** More are found by typing. */
const maxShown = 60;

/** The usable models that match a search, by provider. Every word of the search must occur in a name or title. */
export function groupModels(
  list: Pick<ModelList, "models" | "providers">,
  search: string,
): { readonly groups: readonly ModelGroup[]; readonly hidden: number } {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = list.models.filter((model) => {
    const text = `${model.name} ${modelTitle(model)}`.toLowerCase();
    return model.usable && words.every((word) => text.includes(word));
  });
  const shown = matching.slice(0, maxShown);
  const providers = [...new Set(shown.map(({ provider }) => provider))];
  const titles = new Map(list.providers.map(({ provider, title }) => [provider, title]));
  return {
    groups: providers.map((provider) => ({
      title: titles.get(provider) ?? "Holdfast",
      models: shown.filter((model) => model.provider === provider),
    })),
    hidden: matching.length - shown.length,
  };
}

/** As its provider writes it; a server's own model by the server's name for it. */
export function modelTitle({ title, name }: Pick<ModelView, "title" | "name">): string {
  return title ?? name.slice(name.indexOf("/") + 1);
}
