import { useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { Icon } from "../ui/icons.tsx";
import { Menu } from "../ui/menu.tsx";
import { strings } from "../strings/strings.ts";

interface ModelMenuProps {
  /** The model of this session; `null` for the default. */
  readonly model: string | null;
  readonly onChoose: (model: string | null) => void;
}

/** A longer list gets a search field and shows only the first matches. */
const maxShown = 40;

export function ModelMenu({ model, onChoose }: ModelMenuProps) {
  const { models, router } = useApp();
  const list = useStore(models);
  const [search, setSearch] = useState("");
  if (list === null) return null;
  const usableModels = list.models.filter(({ usable }) => usable);
  const isLong = usableModels.length > maxShown;
  const query = isLong ? search.trim().toLowerCase() : "";
  const shown = usableModels
    .filter(({ name }) => name.toLowerCase().includes(query))
    .slice(0, maxShown);
  return (
    <Menu
      label={strings.composer.model}
      visibleLabel={model ?? list.usual}
      className="button plain model-menu"
      search={isLong ? { label: strings.models.search, value: search, onChange: setSearch } : null}
      items={[
        ...shown.map(({ name, window }) => ({
          label: name,
          hint: strings.models.window(window),
          checked: name === (model ?? list.usual),
          onChoose: () => onChoose(name === list.usual ? null : name),
        })),
        "line",
        {
          label: strings.models.setUp,
          icon: "key",
          onChoose: () => router.go({ kind: "settings", section: "models" }),
        },
      ]}
    >
      <span>{model ?? list.usual}</span>
      <Icon name="chevron" />
    </Menu>
  );
}
