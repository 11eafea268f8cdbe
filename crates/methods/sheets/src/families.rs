//! Whose mass is whose: the ancestry of inserted particles.
//!
//! An insertion takes a third of two parents' masses, so the new particle owes them. A parent may itself be
//! inserted, and may go before its children do. A node stays as long as somebody owes it or it owes somebody:
//! a particle that is gone but still owed is a *ghost*, which passes on at once what it is given back, to its
//! own parents, in the proportion that it owes them. When all descendants are back, every parent has exactly
//! what it gave, in whatever order they went.
//!
//! A parent that left the domain (through a sink or an open wall) leaves no heir: what was owed to it goes to
//! the other parent; with both gone the child owes nobody and counts as small from then on.

use crate::particles::{Kind, NO_FAMILY, Particles};

/// No node or no particle.
const NONE: u32 = NO_FAMILY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// The particle, or NONE for a ghost.
    particle: u32,
    parents: [u32; 2],
    /// Quanta owed to each parent.
    owed: [u32; 2],
    children: u32,
}

/// All families.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Families {
    nodes: Vec<Node>,
    free: Vec<u32>,
}

/// What [`Families::to_rows`] makes of a node: particle, parents, debts, children.
const ROW: usize = 6;

impl Families {
    /// Nodes in use, ghosts included.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Is nobody related?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ghosts: particles that are gone while somebody owes them.
    pub fn ghosts(&self) -> usize {
        let unused = self.free.iter().map(|&n| self.nodes[n as usize]).filter(|n| n.particle == NONE).count();
        self.nodes.iter().filter(|n| n.particle == NONE).count() - unused
    }

    /// Is the particle a parent whose children live?
    pub fn is_owed(&self, particles: &Particles, i: usize) -> bool {
        let node = particles.family[i];
        node != NONE && self.nodes[node as usize].children > 0
    }

    /// Particles have been rearranged: takes down where they are now.
    pub fn follow(&mut self, particles: &Particles) {
        for (i, &node) in particles.family.iter().enumerate() {
            if node != NONE {
                self.nodes[node as usize].particle = i as u32;
            }
        }
    }

    fn new_node(&mut self, node: Node) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.nodes[place as usize] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// The node of a particle, made if there is none.
    fn node_of(&mut self, particles: &mut Particles, i: usize) -> u32 {
        if particles.family[i] == NONE {
            particles.family[i] =
                self.new_node(Node { particle: i as u32, parents: [NONE; 2], owed: [0; 2], children: 0 });
        }
        particles.family[i]
    }

    /// The new particle `child` (the last one) has taken `shares` quanta from its parents.
    pub(crate) fn born(
        &mut self,
        particles: &mut Particles,
        child: usize,
        parents: [usize; 2],
        shares: [u32; 2],
    ) {
        let parents = parents.map(|p| self.node_of(particles, p));
        for parent in parents {
            self.nodes[parent as usize].children += 1;
        }
        particles.family[child] =
            self.new_node(Node { particle: child as u32, parents, owed: shares, children: 0 });
    }

    /// The inserted particle `i` gives its mass back and becomes a ghost, or is forgotten if nobody owes it.
    /// The caller removes it from the particles. False, and nothing changed, if it owes nobody.
    pub(crate) fn give_back(&mut self, particles: &mut Particles, i: usize) -> bool {
        let node = particles.family[i];
        if node == NONE || self.nodes[node as usize].parents == [NONE; 2] {
            return false;
        }
        let mass = std::mem::take(&mut particles.mass[i]);
        particles.family[i] = NONE;
        self.nodes[node as usize].particle = NONE;
        self.pass_on(particles, node, mass);
        self.forget_if_alone(particles, node);
        true
    }

    /// Hands `mass` from a ghost to its parents, and on through ghosts among them.
    fn pass_on(&mut self, particles: &mut Particles, ghost: u32, mass: u32) {
        let node = &mut self.nodes[ghost as usize];
        let shares = match node.parents {
            [_, NONE] => [mass, 0],
            [NONE, _] => [0, mass],
            _ => {
                let all = node.owed[0] as u64 + node.owed[1] as u64;
                let first = (mass as u64 * node.owed[0] as u64).checked_div(all).unwrap_or(mass as u64 / 2);
                // Neither may get more than it is owed as long as the other is owed the rest.
                let first = (first as u32).max(mass.saturating_sub(node.owed[1])).min(mass);
                [first, mass - first]
            }
        };
        let parents = node.parents;
        for side in 0..2 {
            node.owed[side] = node.owed[side].saturating_sub(shares[side]);
        }
        for (parent, share) in parents.into_iter().zip(shares) {
            if parent == NONE || share == 0 {
                continue;
            }
            match self.nodes[parent as usize].particle {
                NONE => self.pass_on(particles, parent, share),
                living => particles.mass[living as usize] += share,
            }
        }
    }

    /// Frees a node that nobody owes and that is a ghost or owes nobody, and asks the same of its parents.
    fn forget_if_alone(&mut self, particles: &mut Particles, node: u32) {
        let Node { particle, parents, children, .. } = self.nodes[node as usize];
        if children > 0 || (particle != NONE && parents != [NONE; 2]) {
            return;
        }
        if particle != NONE {
            particles.family[particle as usize] = NONE;
        }
        self.nodes[node as usize] = Node { particle: NONE, parents: [NONE; 2], owed: [0; 2], children: 0 };
        self.free.push(node);
        for parent in parents.into_iter().filter(|&p| p != NONE) {
            self.nodes[parent as usize].children -= 1;
            self.forget_if_alone(particles, parent);
        }
    }

    /// Particles that are about to leave for good: nobody owes them any more. `leaves[i]` marks them; the
    /// caller removes them afterwards, and their masses with them. Children without any parent left
    /// become small.
    pub fn leave(&mut self, particles: &mut Particles, leaves: &[bool]) {
        let mut left: Vec<u32> = vec![];
        for i in (0..particles.len()).filter(|&i| leaves[i]) {
            let node = std::mem::replace(&mut particles.family[i], NONE);
            if node != NONE {
                self.nodes[node as usize].particle = NONE;
                left.push(node);
            }
        }
        // Inserted ones that leave take their mass along; their children go on owing their parents through
        // the ghosts.
        for &node in &left {
            if self.nodes[node as usize].parents != [NONE; 2] {
                self.forget_if_alone(particles, node);
            }
        }
        // Those forgotten on the way, children and all, are done with.
        let is_root = |n: &u32| {
            let node = &self.nodes[*n as usize];
            node.parents == [NONE; 2] && node.children > 0
        };
        let mut gone: Vec<u32> = left.into_iter().filter(is_root).collect();
        // Ghosts without any heir: their children owe the other parent alone, or nobody.
        while !gone.is_empty() {
            let mut next = vec![];
            gone.sort_unstable();
            let is_gone = |n: u32| n != NONE && gone.binary_search(&n).is_ok();
            for n in 0..self.nodes.len() {
                let node = &mut self.nodes[n];
                let before = node.parents;
                for side in 0..2 {
                    if is_gone(node.parents[side]) {
                        (node.parents[side], node.owed[side]) = (NONE, 0);
                    }
                }
                if before == node.parents || node.parents != [NONE; 2] {
                    continue;
                }
                match node.particle {
                    NONE => next.push(n as u32),
                    living => {
                        particles.kind[living as usize] = Kind::Small;
                        self.forget_if_alone(particles, n as u32);
                    }
                }
            }
            for &node in &gone {
                self.nodes[node as usize] =
                    Node { particle: NONE, parents: [NONE; 2], owed: [0; 2], children: 0 };
                self.free.push(node);
            }
            gone = next;
        }
    }

    /// Everything as plain numbers: six to a node, and the free places.
    pub fn to_rows(&self) -> (Vec<u32>, Vec<u32>) {
        let rows = self.nodes.iter().flat_map(|n| {
            let Node { particle, parents, owed, children } = *n;
            [particle, parents[0], parents[1], owed[0], owed[1], children]
        });
        (rows.collect(), self.free.clone())
    }

    /// The inverse of [`Self::to_rows`]; none if the rows do not fit each other or the particles.
    pub fn from_rows(rows: &[u32], free: &[u32], particles: &Particles) -> Option<Families> {
        let (rows, []) = rows.as_chunks::<ROW>() else { return None };
        let nodes: Vec<Node> = rows
            .iter()
            .map(|&[particle, a, b, owed_a, owed_b, children]| Node {
                particle,
                parents: [a, b],
                owed: [owed_a, owed_b],
                children,
            })
            .collect();
        let is_node = |n: u32| n == NONE || (n as usize) < nodes.len();
        let fits = nodes.iter().all(|n| n.parents.into_iter().all(is_node))
            && free.iter().all(|&n| n != NONE && is_node(n))
            && particles.family.iter().all(|&n| is_node(n))
            && particles
                .family
                .iter()
                .enumerate()
                .all(|(i, &n)| n == NONE || nodes[n as usize].particle == i as u32)
            && nodes.iter().enumerate().all(|(n, node)| {
                node.particle == NONE || particles.family.get(node.particle as usize) == Some(&(n as u32))
            });
        fits.then(|| Families { nodes, free: free.to_vec() })
    }

    /// Panics if counts and links disagree: for tests.
    #[doc(hidden)]
    pub fn check(&self, particles: &Particles) {
        let mut children = vec![0u32; self.nodes.len()];
        for (n, node) in self.nodes.iter().enumerate().filter(|(n, _)| !self.free.contains(&(*n as u32))) {
            for parent in node.parents.into_iter().filter(|&p| p != NONE) {
                children[parent as usize] += 1;
                assert!(!self.free.contains(&parent), "node {n} has a forgotten parent");
            }
            match node.particle {
                NONE => assert!(
                    node.parents != [NONE; 2] && node.children > 0,
                    "ghost {n} without heir or children"
                ),
                i => assert_eq!(particles.family[i as usize], n as u32),
            }
        }
        for (n, node) in self.nodes.iter().enumerate().filter(|(n, _)| !self.free.contains(&(*n as u32))) {
            assert_eq!(node.children, children[n], "children of node {n}");
        }
        for (i, &family) in particles.family.iter().enumerate() {
            let inserted = family != NONE && self.nodes[family as usize].parents != [NONE; 2];
            assert_eq!(inserted, particles.kind[i] == Kind::Inserted, "particle {i}");
        }
    }
}
