import { useState } from "react";
import { useApp, useStore } from "../../app-context.ts";
import { Icon } from "../../ui/icons.tsx";
import { Menu } from "../../ui/menu.tsx";
import { strings } from "../../strings/strings.ts";

/** A longer list gets a search field. */
const maxShown = 40;

/** Lets another model answer the same message. Hidden where there is only one. */
export function RetryModelMenu({ onChoose }: { readonly onChoose: (model: string) => void }) {
  const { models } = useApp();
  const list = useStore(models);
  const [search, setSearch] = useState("");
  const usable = list?.models.filter((model) => model.usable) ?? [];
  if (usable.length < 2) return null;
  const isLong = usable.length > maxShown;
  const query = isLong ? search.trim().toLowerCase() : "";
  const shown = usable.filter(({ name }) => name.toLowerCase().includes(query)).slice(0, maxShown);
  return (
    <Menu
      label={strings.message.otherModel}
      className="icon-button small"
      search={isLong ? { label: strings.models.search, value: search, onChange: setSearch } : null}
      items={shown.map(({ name, window }) => ({
        label: name,
        hint: strings.models.window(window),
        onChoose: () => onChoose(name),
      }))}
    >
      <Icon name="chevron" />
    </Menu>
  );
}
