// What tests say often.

import assert from "node:assert/strict";

/** Holds a call to an error of that status and, where given, sub-status. */
export async function refused(status, call, substatus) {
  await assert.rejects(async () => call(), (error) => {
    assert.equal(Number(error.code), status, `${error.code}: ${error.message ?? error.body?.message}`);
    if (substatus !== undefined) assert.equal(Number(error.substatus ?? 0), substatus);
    return true;
  });
}

/** Whether `part` is in `whole`, which may say more. */
export function holds(whole, part, where = "") {
  if (part === null || typeof part !== "object") return assert.deepEqual(whole, part, where);
  assert.ok(whole && typeof whole === "object", `${where} is missing`);
  if (Array.isArray(part)) assert.equal(whole.length, part.length, `${where} has another length`);
  for (const key of Object.keys(part)) holds(whole[key], part[key], `${where}/${key}`);
}

/** An item without what the server adds. */
export const userPart = (item) => Object.fromEntries(Object.entries(item).filter(([name]) => !name.startsWith("_")));

export const everything = async (iterator) => (await iterator.fetchAll()).resources;

export const idsOf = async (container) => (await everything(container.items.readAll())).map((item) => item.id).sort();
