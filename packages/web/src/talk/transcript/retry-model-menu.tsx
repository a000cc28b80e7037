import { useState } from "react";
import { useApp, useStore } from "../../app-context.ts";
import { groupModels, modelTitle } from "../../models/group-models.ts";
import { Icon } from "../../ui/icons.tsx";
import { Menu } from "../../ui/menu.tsx";
import { strings } from "../../strings/strings.ts";

/** A longer list gets a search field. */
const maxUnsearched = 12;

/** Lets another model answer the same message. Hidden where there is only one. */
export function RetryModelMenu({ onChoose }: { readonly onChoose: (model: string) => void }) {
  const { models } = useApp();
  const list = useStore(models);
  const [search, setSearch] = useState("");
  const count = list?.models.filter((model) => model.usable).length ?? 0;
  if (list === null || count < 2) return null;
  const { groups, hidden } = groupModels(list, search);
  const t = strings.models;
  return (
    <Menu
      label={strings.message.otherModel}
      className="icon-button small"
      search={
        count > maxUnsearched ? { label: t.search, value: search, onChange: setSearch } : null
      }
      note={hidden > 0 ? t.hidden(hidden) : groups.length === 0 ? t.noMatch : null}
      items={groups.map(({ title, models: members }) => ({
        group: title,
        items: members.map((model) => ({
          label: modelTitle(model),
          hint: t.facts(model),
          onChoose: () => onChoose(model.name),
        })),
      }))}
    >
      <Icon name="chevron" />
    </Menu>
  );
}
