// Goes from the run to a message and back with the keyboard alone:
//
//	node keyboard.mjs LINK
import assert from 'node:assert/strict'
import { end, inspect, open } from './browser.mjs'

const view = await open(process.argv[2])
const { page } = view
const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key) }

// opens presses keys, the last of which leads to a page.
async function opens(pattern, ...keys) {
  const before = page.url()
  await press(...keys)
  await page.waitForURL((url) => url.href !== before && pattern.test(url.href))
  await page.waitForLoadState('load')
  await inspect(view)
}
// visibly checks that the element with the focus is in sight and outlined.
async function visibly() {
  const focus = await page.evaluate(() => {
    const e = document.activeElement, box = e.getBoundingClientRect(), style = getComputedStyle(e)
    return { tag: e.tagName, inside: box.top >= 0 && box.bottom <= innerHeight, outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 }
  })
  assert.deepEqual(focus, { tag: 'A', inside: true, outline: true })
}

for (const show of [() => press('?'), () => page.getByRole('button', { name: 'keys' }).click()]) {
  await show()
  assert.ok(await page.locator('#help').isVisible())
  await press('Escape')
  assert.ok(!(await page.locator('#help').isVisible()))
}
await page.locator('#epochs').waitFor()
for (let i = 0; i < 40 && !/\/e\/0$/.test(await page.evaluate(() => document.activeElement.href ?? '')); i++) await press('j')
await visibly()
await opens(/\/e\/0$/, 'Enter')
for (let i = 0; i < 40 && !/Fgroup$/.test(await page.evaluate(() => document.activeElement.href ?? '')); i++) await press('ArrowDown')
await visibly()
await opens(/Fgroup$/, 'Enter')
await opens(/\/groups$/, 'j', 'Enter')
await press('/')
await page.keyboard.type('failed == 0')
await opens(/where=/, 'Enter')
await press('j', 'j', 'k')
await visibly()
await opens(/\/g\//, 'Enter')
await opens(/\/t\//, 'j', 'Enter')
await press('ArrowDown')
await visibly()
await opens(/\/message\/|#m/, 'Enter')
// at returns the number of the message with the focus.
const at = () => page.evaluate(() => Number(document.activeElement.closest('article')?.id.slice(1) ?? -1))
await page.goto(view.origin + '/d/epoch-0%2Fgroup/g/markdown@0')
await opens(/\/t\//, 'j', 'Enter')
const trajectory = page.url()
await press('?')
for (const key of ['n', 'd', 'G', 'o', 'm', 't']) assert.ok(await page.locator('#help kbd', { hasText: new RegExp(`^${key}$`) }).count(), `no help of ${key}`)
await press('Escape')
for (const [key, message] of [['n', 1], ['n', 3], ['p', 1], ['G', 3], ['g', 0], ['d', 3]]) {
  await press(key)
  assert.equal(await at(), message, `after ${key}`)
  await visibly()
}
await press('o')
assert.ok(await page.locator('details.result pre').isVisible())
await press('o')
assert.ok(!(await page.locator('details.result pre').isVisible()))
await opens(/text=plain#m3$/, 'm')
await opens(/tokens=1/, 't')
await page.goto(trajectory)
await opens(/\/message\/0$/, 'ArrowDown', 'Enter')
await opens(/\/message\/0\?text=plain$/, 'm')
await opens(/\/message\/1\?text=plain$/, ']')
await page.goto(view.origin + '/d/epoch-0%2Fgroup/trajectories')
await opens(/status=failed/, 'f', 'f', 'Enter')
await opens(/sort=trajectory_id/, 's', 'Enter')
// j and k on a trajectory's page walk the list as it was filtered and sorted, and u leads back to it.
const ids = await page.locator('#rows a[id]').evaluateAll((all) => all.slice(0, 3).map((a) => a.pathname))
await opens(/\/t\//, 'j', 'Enter')
assert.equal(new URL(page.url()).pathname, ids[0])
for (const [key, id] of [['j', ids[1]], ['j', ids[2]], ['k', ids[1]], [']', ids[2]]]) {
  await opens(/\/t\/.*sort=trajectory_id/, key)
  assert.equal(new URL(page.url()).pathname, id, `after ${key}`)
}
await page.goto(trajectory.replace(/\?.*/, '') + '/message/1')
for (const above of [/\/t\/[^/]+$/, /\/g\/[^/]+$|Fgroup$/]) await opens(above, 'u')
await end(view, 'from the run to a message and back')
