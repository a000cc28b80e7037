import type { ModelView, ReasoningEffort } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { Icon } from "../ui/icons.tsx";
import { Menu, type MenuEntry, type MenuItem } from "../ui/menu.tsx";
import { groupModels, modelTitle } from "./group-models.ts";
import type { ModelList } from "./models-store.ts";

interface ModelMenuProps {
  /** The model of this session; `null` for the default. */
  readonly model: string | null;
  readonly onChoose: (model: string | null) => void;
}

/** Chooses a model: filter, groups by provider, window, price and what it can see. */
export function ModelMenu({ model, onChoose }: ModelMenuProps) {
  const { models, router } = useApp();
  const list = useStore(models);
  const [search, setSearch] = useState("");
  const settings = useModelSettings();
  if (list === null) return null;
  const t = strings.models;
  const name = model ?? list.usual;
  const current = list.models.find((candidate) => candidate.name === name);
  const visibleLabel = current === undefined ? name : modelTitle(current);
  const { groups, hidden } = groupModels(list, search);
  const item = (candidate: ModelView): MenuItem => ({
    label: modelTitle(candidate),
    hint: t.facts(candidate),
    checked: candidate.name === name,
    onChoose: () => onChoose(candidate.name === list.usual ? null : candidate.name),
  });
  const items: MenuEntry[] = groups.map(({ title, models: members }) => ({
    group: title,
    items: members.map(item),
  }));
  const isUnfiltered = search.trim() === "";
  return (
    <Menu
      label={strings.composer.model}
      visibleLabel={visibleLabel}
      className="button plain model-menu"
      search={{ label: t.search, value: search, onChange: setSearch }}
      note={hidden > 0 ? t.hidden(hidden) : groups.length === 0 ? t.noMatch : null}
      items={[
        ...items,
        ...(isUnfiltered && current !== undefined ? effortItems(list, current, settings) : []),
        "line",
        ...(name === list.usual
          ? []
          : [
              {
                label: t.makeDefault(visibleLabel),
                icon: "pin" as const,
                onChoose: () => void settings.setDefault(name),
              },
            ]),
        {
          label: t.setUp,
          icon: "key",
          onChoose: () => router.go({ kind: "settings", section: "models" }),
        },
      ]}
    >
      <span>{visibleLabel}</span>
      <Icon name="chevron" />
    </Menu>
  );
}

/** The efforts of the chosen model, if it takes one. */
function effortItems(
  { models }: ModelList,
  { name, efforts = [], effort }: ModelView,
  settings: ModelSettingsActions,
): MenuEntry[] {
  if (efforts.length === 0) return [];
  const t = strings.models;
  const chosen = Object.fromEntries(
    models.flatMap((model) => (model.effort === undefined ? [] : [[model.name, model.effort]])),
  );
  const item = (label: string, value: ReasoningEffort | undefined): MenuItem => ({
    label,
    checked: effort === value,
    onChoose: () => {
      const { [name]: _, ...others } = chosen;
      void settings.setEfforts(value === undefined ? others : { ...others, [name]: value });
    },
  });
  return [
    "line",
    {
      group: t.effort,
      items: [item(t.effortDefault, undefined), ...efforts.map((one) => item(t.efforts[one], one))],
    },
  ];
}

interface ModelSettingsActions {
  readonly setDefault: (name: string) => Promise<void>;
  readonly setEfforts: (efforts: Readonly<Record<string, ReasoningEffort>>) => Promise<void>;
}

/** Changes the settings that models have, for all conversations. */
export function useModelSettings(): ModelSettingsActions {
  const { client, models, toasts } = useApp();
  async function put(name: "model" | "modelEffort", value: string | Record<string, string>) {
    const result = await client.putSetting({ params: { name }, body: { value } });
    if (!result.ok) return toasts.show(problemText(result.error));
    await models.refresh();
    if (name === "model") toasts.show(strings.models.defaultSet);
  }
  return {
    setDefault: (name) => put("model", name),
    setEfforts: (efforts) => put("modelEffort", efforts),
  };
}
